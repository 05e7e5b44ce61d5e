/**
 * Threads that are kept for the next call, so that a call does not wait for one to start. No more than so many: further
 * calls wait in the order they came, and no more than so many of those.
 */
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { ThreadHandle } from './thread-handle.ts'
import type { RunAnswer, ThreadData } from './thread-messages.ts'

/** Long enough that a tool in use stays warm, and not for ever: every operation has threads of its own. */
const IDLE_MS = 300_000

/** Calls that wait, for each thread. Their time has not begun, so it is this that bounds the wait. */
const WAITING_PER_THREAD = 64

/** What the pool needs to know of a call. */
interface Turn {
  readonly signal: AbortSignal
  /** The time of the call begins when this has settled. */
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
  /** The one used last is taken first, so that those a quiet time does not need are the ones that end. */
  readonly #idle: Idle[] = []
  readonly #waiting = new Set<Waiting>()
  #closed = false

  constructor(max: number, clock: Clock) {
    this.#max = max
    this.#clock = clock
  }

  /** Rejects with the signal's reason once the thread is gone. */
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

  /** Nobody waits while there is one. */
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
    // At once: a thread that is handed to a call that has left would be lost.
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

  /** To the call that has waited longest, where there is one: a call that comes just now does not overtake it. */
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
  return new Fault('overloaded', 'Too many calls wait for a thread of this tool. Come back in a moment.', {
    code: 'BUSY',
    retryAfterMs: 1_000,
  })
}
