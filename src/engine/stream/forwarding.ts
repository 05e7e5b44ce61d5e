/**
 * Readers of this process whose streams run in another one. A reader cannot choose its process, and a connection cannot
 * be handed over once it is encrypted or upgraded, so the frames are forwarded. `forwarded-channel.ts` is the other
 * side.
 */
import { Fault } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel } from '../../core/ports/frames.ts'
import type { Pipe, PipeMessage } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { ReaderMessage, StreamMessage } from './forwarded-channel.ts'

export class Forwarding {
  readonly #env: Environment
  readonly #forwarded = new Set<ForwardedReader>()
  #stopping = false

  constructor(env: Environment) {
    this.#env = env
  }

  /**
   * Brings the frames of the pipe to the reader, until either of them ends. Resolves when the reader has taken the place
   * of the one before it.
   */
  start(pipe: Pipe, channel: FrameChannel, after: number | undefined): Promise<void> {
    const reader = new ForwardedReader(this.#env, pipe, channel, () => this.#forwarded.delete(reader))
    this.#forwarded.add(reader)
    reader.start(after)
    if (this.#stopping) reader.lose()
    return reader.attached
  }

  /** Ends the connections, for a shutdown. The streams go on, and wait for their readers to connect again. */
  stopAll(): void {
    this.#stopping = true
    for (const reader of [...this.#forwarded]) reader.lose()
  }
}

class ForwardedReader {
  readonly #env: Environment
  readonly #pipe: Pipe
  readonly #channel: FrameChannel
  readonly #done: () => void
  /** Frames that the reader has no room for. The other side bounds them. */
  readonly #waiting: FrameBytes[] = []
  #full = false
  /** Frames that the reader has taken, and that the other side does not know of yet. */
  #taken = 0
  readonly #attached = Promise.withResolvers<void>()
  #ending: { fault?: Fault } | undefined
  #over = false

  constructor(env: Environment, pipe: Pipe, channel: FrameChannel, done: () => void) {
    this.#env = env
    this.#pipe = pipe
    this.#channel = channel
    this.#done = done
  }

  /** Settles also if the reader or the stream is over first. */
  get attached(): Promise<void> {
    return this.#attached.promise
  }

  start(after: number | undefined): void {
    onAbort(this.#channel.signal, () => this.#leave())
    onAbort(this.#pipe.signal, () => this.lose())
    this.#pipe.receive((message) => this.#receive(message))
    this.#pipe.send({ after: after ?? null } satisfies ReaderMessage)
  }

  /** The connection to the other process is lost. A regular end was told before. */
  lose(): void {
    if (!this.#ending) this.#end(connectionLost())
  }

  #receive(message: PipeMessage): void {
    if (typeof message === 'string' || message instanceof Uint8Array) {
      this.#waiting.push(message)
      this.#flow()
      return
    }
    const told = message as StreamMessage
    if ('attached' in told) this.#attached.resolve()
    else this.#end(told.end ? Fault.fromRecord(told.end) : undefined)
  }

  #flow(): void {
    while (!this.#full && !this.#over && this.#waiting.length > 0) {
      const room = this.#channel.send(this.#waiting.shift() as FrameBytes)
      if (room) void this.#waitFor(room)
      else this.#report()
    }
    if (this.#ending && !this.#full) this.#finish()
  }

  async #waitFor(room: Promise<void>): Promise<void> {
    this.#full = true
    await room
    this.#full = false
    this.#report()
    this.#flow()
  }

  /** Reports the frames of one turn together. */
  #report(): void {
    if (++this.#taken > 1) return
    void this.#env.nextTurn().then(() => {
      this.#pipe.send({ taken: this.#taken } satisfies ReaderMessage)
      this.#taken = 0
    })
  }

  #end(fault: Fault | undefined): void {
    this.#ending = fault ? { fault } : {}
    this.#flow()
  }

  #finish(): void {
    if (this.#over) return
    this.#leave()
    void this.#channel.end(this.#ending?.fault)
  }

  #leave(): void {
    this.#over = true
    this.#attached.resolve()
    this.#pipe.close()
    this.#done()
  }
}

function onAbort(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
}

function connectionLost(): Fault {
  const message = 'The connection to the process that runs the stream was lost. Connect again, or subscribe again.'
  return new Fault('unavailable', message, { code: 'STREAM_CONNECTION_LOST', retryAfterMs: 100 })
}
