/** Waiting with a bound. */
import type { Instance } from '../../core/instance.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { isTerminal } from '../../core/state.ts'

export interface EndWatch {
  /** The instance once it has ended; nothing if that takes longer, or if the watch is ended before. */
  ended: Promise<Instance | undefined>
  stop(): void
}

/** Watches from now on for the end of an instance. One promise and one timer: every durable call waits so. */
export function watchEnd(clock: Clock, store: Store, id: string, limitMs: number): EndWatch {
  if (limitMs <= 0) return { ended: Promise.resolve(undefined), stop() {} }
  const { promise, resolve } = Promise.withResolvers<Instance | undefined>()
  const finish = (instance?: Instance) => {
    endWatch()
    cancelTimer()
    resolve(instance)
  }
  const endWatch = store.watch(id, (instance) => {
    if (hasEnded(instance)) finish(instance)
  })
  const cancelTimer = clock.schedule(limitMs, () => finish())
  return { ended: promise, stop: () => finish() }
}

/** Of a call that may have ended before it was watched. */
export async function endOf(store: Store, { id }: Instance, watching: EndWatch): Promise<Instance | undefined> {
  try {
    const missed = await store.get(id)
    return missed && hasEnded(missed) ? missed : await watching.ended
  } finally {
    watching.stop()
  }
}

/**
 * The call as it stands when its caller is about to be told that it goes on. Only the end of a sync call can be kept
 * shorter than recorded, so only there is it written down, and once.
 */
export function tellOf(store: Store, instance: Instance): Promise<Instance | undefined> {
  return isUntold(instance) ? store.tell(instance.id) : store.get(instance.id)
}

export function isUntold({ model, told }: Instance): boolean {
  return model === 'sync' && !told
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
