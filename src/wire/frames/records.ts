/**
 * Frames and envelopes on a stream of bytes, such as a QUIC stream: each is a record of one byte for its kind, four
 * bytes for its length (big-endian), and the content. docs/readings.md#r38.
 */
import { joinBytes } from '../../core/bytes.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'

export const RECORDS_TYPE = 'application/vnd.callplane.records'

export const RECORD = { frame: 0, envelope: 1, heartbeat: 2 } as const

export type RecordKind = keyof typeof RECORD

const HEAD_BYTES = 5
const NAMES: readonly (RecordKind | undefined)[] = ['frame', 'envelope', 'heartbeat']

const encoder = new TextEncoder()

export function encodeRecord(kind: RecordKind, content: FrameBytes = ''): Uint8Array {
  const bytes = typeof content === 'string' ? encoder.encode(content) : content
  const record = new Uint8Array(HEAD_BYTES + bytes.length)
  record[0] = RECORD[kind]
  new DataView(record.buffer).setUint32(1, bytes.length)
  record.set(bytes, HEAD_BYTES)
  return record
}

export interface RecordEvents {
  record(kind: RecordKind, content: Uint8Array): void
  /** The record is larger than allowed. Its content is discarded while it arrives. */
  tooLarge(kind: RecordKind): void
  /** The kind is unknown, so the bytes are no records. Nothing is read after that. */
  broken(kind: number): void
}

/** Reads records that arrive in pieces. It keeps at most one record in memory. */
export class RecordDecoder {
  readonly #maxBytes: number
  readonly #events: RecordEvents
  #head: number[] = []
  #pieces: Uint8Array[] = []
  /** Bytes of the content that have not arrived. */
  #missing = 0
  #isDiscarding = false
  #isBroken = false

  constructor(maxBytes: number, events: RecordEvents) {
    this.#maxBytes = maxBytes
    this.#events = events
  }

  /** True between two records. */
  get isWhole(): boolean {
    return this.#head.length === 0
  }

  push(piece: Uint8Array): void {
    let at = 0
    while (at < piece.length && !this.#isBroken) {
      if (this.#head.length < HEAD_BYTES) {
        this.#head.push(piece[at++] as number)
        if (this.#head.length === HEAD_BYTES) this.#begin()
      } else {
        const part = piece.subarray(at, at + this.#missing)
        at += part.length
        this.#missing -= part.length
        if (!this.#isDiscarding) this.#pieces.push(part)
        if (this.#missing === 0) this.#finish()
      }
    }
  }

  #begin(): void {
    const [kind = 0, ...length] = this.#head
    const name = NAMES[kind]
    if (name === undefined) {
      this.#isBroken = true
      this.#events.broken(kind)
      return
    }
    this.#missing = new DataView(Uint8Array.from(length).buffer).getUint32(0)
    this.#isDiscarding = this.#missing > this.#maxBytes
    if (this.#isDiscarding) this.#events.tooLarge(name)
    else if (this.#missing === 0) this.#finish()
  }

  #finish(): void {
    const name = NAMES[this.#head[0] as number] as RecordKind
    const pieces = this.#pieces
    const wasDiscarded = this.#isDiscarding
    this.#head = []
    this.#pieces = []
    this.#isDiscarding = false
    // Always copied, because the library may reuse the buffer of a piece.
    if (!wasDiscarded) this.#events.record(name, joinBytes(pieces))
  }
}
