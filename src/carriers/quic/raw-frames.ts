/**
 * The frames of one stream on a QUIC stream of their own, which the server opens. The first record says which stream it
 * is, the last one how it ended. Frames of one turn of the event loop leave in one write.
 */
import type { Fault } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel } from '../../core/ports/frames.ts'
import { encodeRecord, RECORD } from '../../wire/frames/records.ts'
import type { QuicStream } from './library.ts'
import { drained } from './stall.ts'

/** A turn of the event loop has room for this many frames. */
const MAX_GATHERED = 64
const HEAD_BYTES = 5

export interface RawFrameOptions {
  begin: string
  end(fault?: Fault): string
  stallTimeoutMs: number
}

export class RawFrames implements FrameChannel {
  readonly signal: AbortSignal
  readonly #stream: QuicStream
  readonly #options: RawFrameOptions
  #gathered: FrameBytes[] = []
  #flush: Promise<void> | undefined
  /** Set while the reader has no room. */
  #draining: Promise<void> | undefined

  constructor(stream: QuicStream, options: RawFrameOptions) {
    const gone = new AbortController()
    this.signal = gone.signal
    this.#stream = stream
    this.#options = options
    // A reader sends nothing here, and the library drops what is not read.
    stream.resume()
    stream.once('close', () => {
      if (!stream.writableFinished) gone.abort()
    })
    stream.write(encodeRecord('envelope', options.begin))
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    this.#gathered.push(frame)
    this.#flush ??= this.#leaveSoon()
    if (this.#gathered.length >= MAX_GATHERED || this.#draining) return this.#flush
  }

  async end(fault?: Fault): Promise<void> {
    await this.#flush
    if (this.#stream.destroyed) return
    this.#stream.end(Buffer.from(encodeRecord('envelope', this.#options.end(fault))))
  }

  async #leaveSoon(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    await this.#draining
    const frames = this.#gathered
    this.#gathered = []
    this.#flush = undefined
    if (this.#stream.destroyed || this.#stream.write(encodeFrames(frames))) return
    this.#draining = drained(this.#stream, this.#options.stallTimeoutMs)
    await this.#draining
    this.#draining = undefined
  }
}

/** As `encodeRecord`, for many frames at once: one buffer instead of two for each frame. */
function encodeFrames(frames: readonly FrameBytes[]): Buffer {
  const lengths = frames.map((frame) => (typeof frame === 'string' ? Buffer.byteLength(frame) : frame.length))
  const records = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + HEAD_BYTES + length, 0))
  let at = 0
  for (const [index, frame] of frames.entries()) {
    const length = lengths[index] as number
    records.writeUInt8(RECORD.frame, at)
    records.writeUInt32BE(length, at + 1)
    at += HEAD_BYTES
    if (typeof frame === 'string') records.write(frame, at)
    else records.set(frame, at)
    at += length
  }
  return records
}
