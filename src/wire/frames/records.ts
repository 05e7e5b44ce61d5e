/**
 * Frames and envelopes on a stream of bytes, such as a QUIC stream: each is a record of one byte for its kind, four
 * bytes for its length (big-endian), and the content. docs/readings.md#r39.
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

export type DecodedRecord =
  | { kind: RecordKind; content: Uint8Array }
  /** The record is larger than allowed. Its content is discarded while it arrives. */
  | { kind: 'too-large' }
  /** The kind is unknown, so the bytes are no records. Nothing is read after that. */
  | { kind: 'broken' }

/** Reads records that arrive in pieces. It keeps at most one record in memory. */
export class RecordDecoder {
  readonly #maxBytes: number
  #head: number[] = []
  #pieces: Uint8Array[] = []
  /** Bytes of the content that have not arrived. */
  #missing = 0
  #isDiscarding = false
  #isBroken = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** True between two records. */
  get isWhole(): boolean {
    return this.#head.length === 0
  }

  /** The records that this piece completes. Take all of them before the next piece. */
  *push(piece: Uint8Array): Generator<DecodedRecord> {
    let at = 0
    while (at < piece.length && !this.#isBroken) {
      if (this.#head.length < HEAD_BYTES) {
        this.#head.push(piece[at++] as number)
        if (this.#head.length < HEAD_BYTES) continue
        const [kind = 0, ...length] = this.#head
        this.#missing = new DataView(Uint8Array.from(length).buffer).getUint32(0)
        this.#isBroken = NAMES[kind] === undefined
        this.#isDiscarding = this.#missing > this.#maxBytes
        if (this.#isBroken) yield { kind: 'broken' }
        else if (this.#isDiscarding) yield { kind: 'too-large' }
      } else {
        const part = piece.subarray(at, at + this.#missing)
        at += part.length
        this.#missing -= part.length
        if (!this.#isDiscarding) this.#pieces.push(part)
      }
      if (this.#missing === 0 && !this.#isBroken) yield* this.#finish()
    }
  }

  *#finish(): Generator<DecodedRecord> {
    const kind = NAMES[this.#head[0] as number] as RecordKind
    // Always copied, because the library may reuse the buffer of a piece.
    const content = joinBytes(this.#pieces)
    const wasDiscarded = this.#isDiscarding
    this.#head = []
    this.#pieces = []
    this.#isDiscarding = false
    if (!wasDiscarded) yield { kind, content }
  }
}
