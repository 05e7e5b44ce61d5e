/**
 * The way to a reader that is connected to another process: the process that runs the stream sends frames through a
 * pipe. `forwarding.ts` is the other side. It reports the frames that the reader has taken, so that a slow reader makes
 * the handler wait as if it were here.
 */
import type { Fault, FaultRecord } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel } from '../../core/ports/frames.ts'
import type { Pipe } from '../../core/ports/peers.ts'

/** Frames under way to the other process. A channel has no room after 64 frames of one turn, and so has this one. */
const MAX_FRAMES = 64
const MAX_BYTES = 256 * 1024

/** Sent by the side of the reader: first to connect, then to report the number of frames that the reader has taken. */
export type ReaderMessage = { after: number | null } | { taken: number }

/** Sent by the side of the stream: when the reader has taken its place, and after the last frame. */
export type StreamMessage = { attached: true } | { end: FaultRecord | null }

export class ForwardedChannel implements FrameChannel {
  readonly #pipe: Pipe
  /** The sizes of the frames under way. */
  readonly #sizes: number[] = []
  #bytes = 0
  #room: PromiseWithResolvers<void> | undefined

  /** `connected` is called when the other side is ready for frames. */
  constructor(pipe: Pipe, connected: (channel: FrameChannel, after: number | undefined) => void) {
    this.#pipe = pipe
    pipe.receive((message) => {
      const received = message as ReaderMessage
      if ('taken' in received) this.#taken(received.taken)
      else {
        connected(this, received.after ?? undefined)
        pipe.send({ attached: true } satisfies StreamMessage)
      }
    })
    pipe.signal.addEventListener('abort', () => this.#goOn(), { once: true })
  }

  get signal(): AbortSignal {
    return this.#pipe.signal
  }

  send(frame: FrameBytes): void | Promise<void> {
    if (this.signal.aborted) return
    this.#pipe.send(frame)
    this.#sizes.push(frame.length)
    this.#bytes += frame.length
    if (this.#hasRoom()) return
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  end(fault?: Fault): void {
    this.#pipe.send({ end: fault?.toRecord() ?? null } satisfies StreamMessage)
    this.#pipe.close()
  }

  #taken(frames: number): void {
    for (const size of this.#sizes.splice(0, frames)) this.#bytes -= size
    if (this.#hasRoom()) this.#goOn()
  }

  #hasRoom(): boolean {
    return this.#sizes.length < MAX_FRAMES && this.#bytes < MAX_BYTES
  }

  #goOn(): void {
    this.#room?.resolve()
    this.#room = undefined
  }
}
