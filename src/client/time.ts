/** Waiting and deadlines. The clock can be replaced in tests. */
import { CallFault } from './fault.ts'
import { schedule } from './timer.ts'

export interface Clock {
  now(): number
  /** Rejects with the signal's reason if it aborts. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
  /** Runs once after `ms`. Returns a function that cancels it. */
  schedule(ms: number, act: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  schedule,
  wait(ms, signal) {
    return new Promise((resolve, reject) => {
      const cancel = schedule(ms, () => {
        forget()
        resolve()
      })
      const forget = onAbort(signal, () => {
        cancel()
        reject(signal?.reason)
      })
    })
  },
}

/** How long a call may take. */
export interface Limit {
  /** Aborts with a fault that says why. */
  readonly signal: AbortSignal
  /** To be called when the call has ended. */
  end(): void
}

/**
 * Limits a call by signals and by a deadline. Each call has a signal of its own, because a `fetch` leaves its listener on a
 * shared one until it is freed. `AbortSignal.any` takes a tenth of a `fetch`.
 */
export function createLimit(
  signals: readonly (AbortSignal | undefined)[],
  timeoutMs: number | undefined,
  clock: Clock,
): Limit {
  const limited = new AbortController()
  const ends = signals.map((signal) => onAbort(signal, () => limited.abort(aborted(signal?.reason))))
  if (timeoutMs !== undefined) ends.push(clock.schedule(timeoutMs, () => limited.abort(timedOut(timeoutMs))))
  return {
    signal: limited.signal,
    end() {
      for (const end of ends) end()
    },
  }
}

/** Acts when the signal aborts, or now if it has. Returns a function that ends this. */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  signal?.addEventListener('abort', act)
  if (signal?.aborted) act()
  return () => signal?.removeEventListener('abort', act)
}

function timedOut(timeoutMs: number): CallFault {
  return new CallFault('TIMED_OUT', `No end after ${timeoutMs} ms. The call may still run.`)
}

export function aborted(reason?: unknown): CallFault {
  return new CallFault('ABORTED', 'The caller aborted. The call may still run.', { cause: reason })
}
