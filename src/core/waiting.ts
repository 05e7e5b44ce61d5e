/** Waiting with a bound. */
import type { Instance } from './model.ts'
import type { Clock, Store } from './ports.ts'
import { isTerminal } from './state.ts'

/** The promise's value, or undefined if it takes longer. The promise must not reject. */
export function within<T>(clock: Clock, limitMs: number, promise: Promise<T>): Promise<T | undefined> {
  if (limitMs <= 0) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const cancel = clock.schedule(limitMs, () => resolve(undefined))
    void promise.then((value) => {
      cancel()
      resolve(value)
    })
  })
}

/** Watches an instance from now on. `stop` must be called, or the watch stays. */
export function watchFor(
  store: Store,
  id: string,
  wanted: (instance: Instance) => boolean,
): { found: Promise<Instance>; stop: () => void } {
  let stop = () => {}
  const found = new Promise<Instance>((resolve) => {
    stop = store.watch(id, (instance) => {
      if (wanted(instance)) resolve(instance)
    })
  })
  return { found, stop }
}

export function hasEnded(instance: Instance): boolean {
  return isTerminal(instance.state)
}
