/** gRPC's messages on the wire: five bytes of head, then the message. For single, uncompressed messages only. */
import { joinBytes } from '../../core/bytes.ts'
import { Fault } from '../../core/fault.ts'

const HEAD_BYTES = 5

/** Of the text as UTF-8. */
export function encodeFrame(text: string): Uint8Array {
  const message = new TextEncoder().encode(text)
  const frame = new Uint8Array(HEAD_BYTES + message.length)
  new DataView(frame.buffer).setUint32(1, message.length)
  frame.set(message, HEAD_BYTES)
  return frame
}

export interface FrameReader {
  /** Takes what has arrived; a fault as soon as it is known to be too large, compressed or more than one message. */
  push(bytes: Uint8Array): void
  /** The message, once everything has arrived; a fault if it broke off. Nothing if none was sent. */
  finish(): string | undefined
}

/** `tooLarge` is how the reader's side words it. */
export function createFrameReader(maxBytes: number, tooLarge: () => Fault): FrameReader {
  const pieces: Uint8Array[] = []
  let arrived = 0
  let expected: number | undefined
  return {
    push(bytes) {
      pieces.push(bytes)
      arrived += bytes.length
      if (expected === undefined && arrived >= HEAD_BYTES) {
        const head = joinBytes(pieces)
        pieces.splice(0, pieces.length, head)
        expected = messageBytes(head)
        if (expected > maxBytes) throw tooLarge()
      }
      if (arrived > HEAD_BYTES + (expected ?? 0)) throw broken('more than one message came; send one')
    },
    finish() {
      if (arrived === 0) return undefined
      if (expected === undefined || arrived < HEAD_BYTES + expected) throw broken('the message broke off')
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(joinBytes(pieces).subarray(HEAD_BYTES))
      } catch (cause) {
        throw new Fault('malformed', 'The gRPC message is not UTF-8; send JSON.', { code: 'INVALID_FRAME', cause })
      }
    },
  }
}

function messageBytes(head: Uint8Array): number {
  if (head[0] !== 0) throw broken('the message is compressed; send it as it is')
  return new DataView(head.buffer, head.byteOffset).getUint32(1)
}

function broken(how: string): Fault {
  return new Fault('malformed', `This is not one gRPC message: ${how}.`, { code: 'INVALID_FRAME' })
}
