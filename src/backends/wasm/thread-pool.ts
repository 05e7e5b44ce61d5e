/** Threads that are kept for the next call, so that a call does not wait for one to start. No more than so many. */
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports.ts'
import { ThreadHandle } from './thread-handle.ts'
import type { RunAnswer, ThreadData } from './thread-messages.ts'

/** Long enough that a tool in use stays warm, and not for ever: every operation has threads of its own. */
const IDLE_MS = 300_000

interface Idle {
  thread: ThreadHandle
  cancelTimer: () => void
}

export class ThreadPool {
  readonly #max: number
  readonly #clock: Clock
  readonly #threads = new Set<ThreadHandle>()
  /** The one used last is taken first, so that those a quiet time does not need are the ones that end. */
  readonly #idle: Idle[] = []
  readonly #waiting = new Set<() => void>()
  #closed = false

  constructor(max: number, clock: Clock) {
    this.#max = max
    this.#clock = clock
  }

  /** Rejects with the signal's reason once the thread is gone. */
  async run(data: ThreadData, input: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<RunAnswer> {
    const thread = await this.#take(data, signal)
    const stopped = Promise.withResolvers<never>()
    const onAbort = () => void thread.end().then(() => stopped.reject(signal.reason), stopped.reject)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    const ran = thread.run(input)
    try {
      return await Promise.race([
        ran.catch((thrown) => (signal.aborted ? stopped.promise : Promise.reject(thrown))),
        stopped.promise,
      ])
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#giveBack(thread, signal.aborted)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { cancelTimer } of this.#idle) cancelTimer()
    for (const proceed of this.#waiting) proceed()
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  async #take(data: ThreadData, signal: AbortSignal): Promise<ThreadHandle> {
    for (;;) {
      signal.throwIfAborted()
      if (this.#closed) throw new Fault('unavailable', 'The server is shutting down. Send the call again in a moment.')
      for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
        idle.cancelTimer()
        if (idle.thread.usable) return idle.thread
        this.#threads.delete(idle.thread)
      }
      if (this.#threads.size < this.#max) {
        const thread = new ThreadHandle(data)
        this.#threads.add(thread)
        return thread
      }
      await this.#turn(signal)
    }
  }

  /** Until a thread may be free. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((done) => {
      const proceed = () => {
        this.#waiting.delete(proceed)
        signal.removeEventListener('abort', proceed)
        done()
      }
      this.#waiting.add(proceed)
      signal.addEventListener('abort', proceed, { once: true })
    })
  }

  #giveBack(thread: ThreadHandle, ended: boolean): void {
    if (ended || !thread.usable || this.#closed) this.#threads.delete(thread)
    else this.#keep(thread)
    const [first] = this.#waiting
    first?.()
  }

  #keep(thread: ThreadHandle): void {
    const idle: Idle = {
      thread,
      cancelTimer: this.#clock.schedule(IDLE_MS, () => {
        this.#idle.splice(this.#idle.indexOf(idle), 1)
        this.#threads.delete(thread)
        void thread.end()
      }),
    }
    this.#idle.push(idle)
  }
}
