/** gRPC's message framing: a head of five bytes, then the message. Supports single, uncompressed messages only. */
import { joinBytes } from '../../core/bytes.ts'
import { Fault } from '../../core/fault.ts'

const HEAD_BYTES = 5

/** Returns a frame with the text as UTF-8. */
export function encodeFrame(text: string): Uint8Array {
  const message = new TextEncoder().encode(text)
  const frame = new Uint8Array(HEAD_BYTES + message.length)
  new DataView(frame.buffer).setUint32(1, message.length)
  frame.set(message, HEAD_BYTES)
  return frame
}

export interface FrameReader {
  /** Adds received bytes. Throws a fault as soon as the message is too large, compressed or followed by another one. */
  push(bytes: Uint8Array): void
  /**
   * Returns the message after the last byte, or `undefined` if none was sent. Throws a fault if the message is
   * incomplete.
   */
  finish(): string | undefined
}

/** `tooLarge` creates the fault for a message above `maxBytes`. */
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
      if (arrived > HEAD_BYTES + (expected ?? 0)) throw broken('there is more than one message; send one')
    },
    finish() {
      if (arrived === 0) return undefined
      if (expected === undefined || arrived < HEAD_BYTES + expected) throw broken('the message is incomplete')
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(joinBytes(pieces).subarray(HEAD_BYTES))
      } catch (cause) {
        throw new Fault('malformed', 'The gRPC message is not UTF-8; send JSON.', { code: 'INVALID_FRAME', cause })
      }
    },
  }
}

function messageBytes(head: Uint8Array): number {
  if (head[0] !== 0) throw broken('the message is compressed; send it uncompressed')
  return new DataView(head.buffer, head.byteOffset).getUint32(1)
}

function broken(how: string): Fault {
  return new Fault('malformed', `This is not one gRPC message: ${how}.`, { code: 'INVALID_FRAME' })
}
