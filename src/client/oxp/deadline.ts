/** The time limit of a call, and its abort signal. All that waits waits within it. */
import type { Clock } from '../../core/ports/runtime.ts'
import { schedule } from '../timer.ts'
import { OxpError } from './error.ts'

export type ClientClock = Pick<Clock, 'monotonicMs' | 'schedule'>

export const systemClock: ClientClock = { monotonicMs: () => Math.floor(performance.now()), schedule }

export class Deadline {
  readonly #clock: ClientClock
  readonly #endsAtMs: number
  readonly #controller = new AbortController()
  readonly #release: (() => void)[] = []

  constructor(clock: ClientClock, timeoutMs: number, signals: readonly (AbortSignal | undefined)[]) {
    this.#clock = clock
    this.#endsAtMs = clock.monotonicMs() + timeoutMs
    this.#release.push(clock.schedule(timeoutMs, () => this.#controller.abort(timedOut(timeoutMs))))
    for (const signal of signals) if (signal) this.#follow(signal)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** True if this much time is left. */
  allows(delayMs: number): boolean {
    return this.#clock.monotonicMs() + delayMs < this.#endsAtMs
  }

  /** Rejects when the time is up, even if the work cannot be aborted. */
  async within<T>(work: PromiseLike<T>): Promise<T> {
    const { signal } = this
    const ended = Promise.withResolvers<never>()
    const end = () => ended.reject(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    try {
      return await Promise.race([work, ended.promise])
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  async sleep(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.schedule(delayMs, resolve)
    try {
      await this.within(promise)
    } finally {
      cancel()
    }
  }

  /** Clears the timer and lets go of the caller's signals. */
  end(): void {
    for (const release of this.#release.splice(0)) release()
  }

  #follow(signal: AbortSignal): void {
    const abort = () => this.#controller.abort(aborted(signal.reason))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#release.push(() => signal.removeEventListener('abort', abort))
  }
}

function timedOut(timeoutMs: number): OxpError {
  return new OxpError(`The call did not end within ${timeoutMs} ms. Set a longer "timeoutMs" if it needs more time.`, {
    code: 'TIMED_OUT',
    outcome: 'unknown',
  })
}

function aborted(reason: unknown): OxpError {
  return new OxpError('The caller aborted the call.', { code: 'ABORTED', outcome: 'unknown', cause: reason })
}
