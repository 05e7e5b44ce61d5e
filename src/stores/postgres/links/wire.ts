/** The messages of a link: a length, a kind, the number of a pipe, and a payload. */
import type { PipeMessage } from '../../../core/ports/peers.ts'

export const KIND = { beat: 0, open: 1, accepted: 2, refused: 3, text: 4, bytes: 5, object: 6, close: 7 } as const

/** Four bytes of length, which counts what follows it; one of kind; four of pipe number. */
const LENGTH_BYTES = 4
const HEADER_BYTES = LENGTH_BYTES + 5

/** The largest payload. A frame is one message. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024

/** `undefined` if the payload is too large. */
export function encode(kind: number, pipe: number, payload: string | Uint8Array = ''): Buffer | undefined {
  const size = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length
  if (size > MAX_PAYLOAD_BYTES) return undefined
  const message = Buffer.allocUnsafe(HEADER_BYTES + size)
  message.writeUInt32BE(HEADER_BYTES - LENGTH_BYTES + size, 0)
  message[LENGTH_BYTES] = kind
  message.writeUInt32BE(pipe, LENGTH_BYTES + 1)
  if (typeof payload === 'string') message.write(payload, HEADER_BYTES)
  else message.set(payload, HEADER_BYTES)
  return message
}

export function encodeMessage(pipe: number, message: PipeMessage): Buffer | undefined {
  if (typeof message === 'string') return encode(KIND.text, pipe, message)
  if (message instanceof Uint8Array) return encode(KIND.bytes, pipe, message)
  return encode(KIND.object, pipe, JSON.stringify(message))
}

/** `undefined` for the kinds that belong to the link itself. Throws if the JSON is not an object. */
export function decodeMessage(kind: number, payload: Buffer): PipeMessage | undefined {
  if (kind === KIND.text) return payload.toString()
  // A copy: the reader may be slow, and a view would keep the whole chunk of the socket.
  if (kind === KIND.bytes) return new Uint8Array(payload)
  if (kind !== KIND.object) return undefined
  const value: unknown = JSON.parse(payload.toString())
  if (typeof value !== 'object' || value === null) throw new Error('A message of a pipe is not an object.')
  return value
}

/** Cuts the bytes of a link into messages. */
export class Decoder {
  readonly #message: (kind: number, pipe: number, payload: Buffer) => void
  #chunks: Buffer[] = []
  #size = 0
  /** Bytes without which no message is complete. */
  #needed = HEADER_BYTES

  constructor(message: (kind: number, pipe: number, payload: Buffer) => void) {
    this.#message = message
  }

  /** Throws if the other side does not keep to the format. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#needed) return
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    let at = 0
    this.#needed = HEADER_BYTES
    while (bytes.length - at >= HEADER_BYTES) {
      const size = LENGTH_BYTES + bytes.readUInt32BE(at)
      if (size < HEADER_BYTES || size > HEADER_BYTES + MAX_PAYLOAD_BYTES)
        throw new Error(`A message of ${size} bytes is not allowed on a link.`)
      if (bytes.length - at < size) {
        this.#needed = size
        break
      }
      this.#message(
        bytes[at + LENGTH_BYTES] as number,
        bytes.readUInt32BE(at + LENGTH_BYTES + 1),
        bytes.subarray(at + HEADER_BYTES, at + size),
      )
      at += size
    }
    this.#chunks = at < bytes.length ? [bytes.subarray(at)] : []
    this.#size = bytes.length - at
  }
}
