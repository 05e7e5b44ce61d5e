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
      const stop = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = schedule(ms, () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      signal?.addEventListener('abort', stop)
      if (signal?.aborted) stop()
    })
  },
}

/** How long a call may take. */
export interface Limit {
  /** Aborts with a fault that says why. Absent if nothing limits the call. */
  readonly signal: AbortSignal | undefined
  /** To be called when the call has ended. */
  end(): void
}

const UNLIMITED: Limit = { signal: undefined, end() {} }

/** Limits a call by the caller's signal and by a deadline. */
export function createLimit(signal: AbortSignal | undefined, timeoutMs: number | undefined, clock: Clock): Limit {
  if (!signal && timeoutMs === undefined) return UNLIMITED
  const limited = new AbortController()
  const abort = () => limited.abort(aborted(signal?.reason))
  const cancel =
    timeoutMs === undefined ? undefined : clock.schedule(timeoutMs, () => limited.abort(timedOut(timeoutMs)))
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  return {
    signal: limited.signal,
    end() {
      cancel?.()
      signal?.removeEventListener('abort', abort)
    },
  }
}

function timedOut(timeoutMs: number): CallFault {
  return new CallFault('TIMED_OUT', `No end after ${timeoutMs} ms. The call may still run.`)
}

export function aborted(reason?: unknown): CallFault {
  return new CallFault('ABORTED', 'The caller aborted. The call may still run.', { cause: reason })
}
