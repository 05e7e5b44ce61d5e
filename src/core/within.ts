/** Waits for a promise with a time limit. */
import type { Clock } from './ports/runtime.ts'

/** The promise's value, or `undefined` if it takes longer than `limitMs`. The promise must not reject. */
export function within<T>(
  clock: Pick<Clock, 'schedule'>,
  limitMs: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  if (limitMs <= 0) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const cancel = clock.schedule(limitMs, () => resolve(undefined))
    void promise.then((value) => {
      cancel()
      resolve(value)
    })
  })
}
