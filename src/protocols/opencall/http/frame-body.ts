/** The frames of a stream as the body of a response, in one of several formats. The reader's pace is the stream's pace. */
import type { Fault } from '../../../core/fault.ts'
import type { FrameBytes } from '../../../core/operation/stream.ts'
import type { FrameChannel } from '../../../core/ports/frames.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { orHeartbeat } from '../../../wire/http/event-stream.ts'

/** How frames are written. */
export interface FrameFormat<Piece extends Uint8Array | string> {
  frame(frame: FrameBytes): Piece
  /** The last piece: the stream has ended in order, or with a fault. */
  end(fault?: Fault): Piece
  /** Sent while there are no frames, so that a quiet connection is not closed. */
  heartbeat(): Piece
  join(pieces: readonly Piece[]): Piece
}

/** A reader has room for this many frames. */
const MAX_WAITING = 64

export class FrameBody<Piece extends Uint8Array | string> implements FrameChannel {
  readonly #left = new AbortController()
  readonly signal: AbortSignal = this.#left.signal
  readonly #format: FrameFormat<Piece>
  #pieces: Piece[] = []
  #wake = () => {}
  #room: PromiseWithResolvers<void> | undefined
  #ended = false

  /** `gone` aborts when the client leaves. It may come back, so the stream does not get the reason, which cancels. */
  constructor(format: FrameFormat<Piece>, gone: AbortSignal) {
    this.#format = format
    if (gone.aborted) this.#leave()
    else gone.addEventListener('abort', () => this.#leave(), { once: true })
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    this.#pieces.push(this.#format.frame(frame))
    this.#wake()
    if (this.#pieces.length < MAX_WAITING) return
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  end(fault?: Fault): void {
    this.#pieces.push(this.#format.end(fault))
    this.#ended = true
    this.#wake()
  }

  async *read(clock: Clock): AsyncIterable<Piece> {
    try {
      while (!this.signal.aborted) {
        const ready = this.#pieces
        this.#pieces = []
        this.#makeRoom()
        if (ready.length > 0) yield this.#format.join(ready)
        else if (this.#ended) return
        else if (!(await orHeartbeat(this.#next(), clock))) yield this.#format.heartbeat()
      }
    } finally {
      this.#leave()
    }
  }

  #next(): Promise<true> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(true)
    })
  }

  #leave(): void {
    this.#left.abort()
    this.#makeRoom()
    this.#wake()
  }

  #makeRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }
}
