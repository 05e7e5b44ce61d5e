/** A frame channel whose reader the test plays, with as much room as the test gives it. */
import type { Fault } from '../../src/core/fault.ts'
import type { FrameBytes } from '../../src/core/operation/stream.ts'
import type { FrameChannel, StreamReader, StreamTransports } from '../../src/core/ports/frames.ts'

export class PlayedReader implements FrameChannel {
  readonly got: FrameBytes[] = []
  /** How the stream ended for this reader. */
  ended: 'complete' | Fault | undefined
  readonly #leaving = new AbortController()
  #left: number
  #room: PromiseWithResolvers<void> | undefined

  /** `room` is the number of frames that it takes before it has to read. */
  constructor(room = Number.POSITIVE_INFINITY) {
    this.#left = room
  }

  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  /** The frames as JSON. */
  get values(): unknown[] {
    return this.got.map((frame) => JSON.parse(String(frame)))
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    this.got.push(frame)
    if (--this.#left > 0) return
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  end(fault?: Fault): void {
    if (this.ended) throw new Error('ended twice')
    if (this.signal.aborted) throw new Error('ended after the reader had gone')
    this.ended = fault ?? 'complete'
  }

  /** Makes room for this many frames. */
  read(frames: number): void {
    this.#left = Math.max(0, this.#left) + frames
    this.#room?.resolve()
    this.#room = undefined
  }

  leave(): void {
    this.#leaving.abort()
    this.#room?.resolve()
  }

  /** Connects to a stream of an engine. */
  connecting(id: string, more: Pick<StreamReader, 'ticket' | 'after'> = {}): StreamReader {
    return { id, ...more, open: () => this }
  }
}

/** Readers connect with a ticket, as to a WebSocket. */
export const TICKETED: StreamTransports = {
  names: () => ['wss'],
  get: (name) => (name === 'wss' ? { name, place: ({ id }) => ({ location: `wss://test/streams/${id}` }) } : undefined),
}
