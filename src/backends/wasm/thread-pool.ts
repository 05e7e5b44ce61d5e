/**
 * Keeps threads for the next calls, so that a call does not wait for a thread to start. The number of threads is
 * limited. Further calls wait in order of arrival, and the number of waiting calls is limited too.
 */
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { ThreadHandle } from './thread-handle.ts'
import type { RunAnswer, ThreadData } from './thread-messages.ts'

/** Long enough to keep a tool in use warm. Not unlimited, because every operation has its own threads. */
const IDLE_MS = 300_000

/** Maximum number of waiting calls per thread. A waiting call's time limit has not started, so this bounds the wait. */
const WAITING_PER_THREAD = 64

/** The part of a call that the pool needs. */
interface Turn {
  readonly signal: AbortSignal
  /** The call's time limit starts when this promise settles. */
  queued<T>(turn: Promise<T>): Promise<T>
}

interface Waiting {
  data: ThreadData
  hand(thread: ThreadHandle): void
  refuse(why: unknown): void
}

interface Idle {
  thread: ThreadHandle
  cancelTimer: () => void
}

export class ThreadPool {
  readonly #max: number
  readonly #clock: Clock
  readonly #threads = new Set<ThreadHandle>()
  /** The most recently used thread is taken first, so that the other threads become idle and end. */
  readonly #idle: Idle[] = []
  readonly #waiting = new Set<Waiting>()
  #closed = false

  constructor(max: number, clock: Clock) {
    this.#max = max
    this.#clock = clock
  }

  /** Rejects with the signal's reason after the thread has ended. */
  async run(data: ThreadData, input: Uint8Array<ArrayBuffer>, call: Turn): Promise<RunAnswer> {
    const { signal } = call
    signal.throwIfAborted()
    if (this.#closed) throw closing()
    const thread = this.#free(data) ?? (await call.queued(this.#turn(data, signal)))
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
    for (const { refuse } of this.#waiting) refuse(closing())
    this.#waiting.clear()
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  /** No call waits while a thread is free. */
  #free(data: ThreadData): ThreadHandle | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      idle.cancelTimer()
      if (idle.thread.usable) return idle.thread
      this.#threads.delete(idle.thread)
    }
    return this.#threads.size < this.#max ? this.#start(data) : undefined
  }

  #start(data: ThreadData): ThreadHandle {
    const thread = new ThreadHandle(data)
    this.#threads.add(thread)
    return thread
  }

  async #turn(data: ThreadData, signal: AbortSignal): Promise<ThreadHandle> {
    if (this.#waiting.size >= this.#max * WAITING_PER_THREAD) throw tooMany()
    const turn = Promise.withResolvers<ThreadHandle>()
    const waiting: Waiting = { data, hand: turn.resolve, refuse: turn.reject }
    // Synchronous: a thread given to a call that has left would be lost.
    const leave = () => {
      this.#waiting.delete(waiting)
      turn.reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    this.#waiting.add(waiting)
    try {
      return await turn.promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Gives the thread to the call that has waited longest, so that a new call cannot overtake it. */
  #giveBack(thread: ThreadHandle, ended: boolean): void {
    const usable = !ended && thread.usable && !this.#closed
    if (!usable) this.#threads.delete(thread)
    const [next] = this.#waiting
    if (next && !this.#closed) {
      this.#waiting.delete(next)
      next.hand(usable ? thread : this.#start(next.data))
    } else if (usable) this.#keep(thread)
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

function closing(): Fault {
  return new Fault('unavailable', 'The server is shutting down. Send the call again in a moment.')
}

function tooMany(): Fault {
  return new Fault('overloaded', 'Too many calls wait for a thread of this tool. Try again in a moment.', {
    code: 'BUSY',
    retryAfterMs: 1_000,
  })
}
