/** Waits for changes of an instance, with a time limit. */
import type { Instance } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'

export interface EndWatch {
  /** The instance once it has ended. `undefined` if that takes longer, or if the watch is stopped first. */
  ended: Promise<Instance | undefined>
  stop(): void
}

/** Watches for the end of an instance. */
export function watchEnd(clock: Clock, store: Store, id: string, limitMs: number): EndWatch {
  return limitMs > 0 ? new TimedWatch(clock, store, id, limitMs) : { ended: Promise.resolve(undefined), stop() {} }
}

/** One promise, one timer and few functions, because every durable call waits in this way. */
class TimedWatch implements EndWatch {
  readonly ended: Promise<Instance | undefined>
  readonly #endWatch: () => void
  readonly #cancelTimer: () => void
  #resolve: ((instance: Instance | undefined) => void) | undefined

  constructor(clock: Clock, store: Store, id: string, limitMs: number) {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#endWatch = store.watch(id, (instance) => {
      if (hasEnded(instance)) this.stop(instance)
    })
    this.#cancelTimer = clock.schedule(limitMs, () => this.stop())
  }

  stop(instance?: Instance): void {
    this.#endWatch()
    this.#cancelTimer()
    this.#resolve?.(instance)
  }
}

/** The end of a call that may have ended before the watch began. */
export async function endOf(store: Store, { id }: Instance, watching: EndWatch): Promise<Instance | undefined> {
  try {
    const missed = await store.get(id)
    return missed && hasEnded(missed) ? missed : await watching.ended
  } finally {
    watching.stop()
  }
}

/**
 * The current state of a call whose caller is about to learn that it continues. Only a sync call can be retained for
 * less time than recorded, so only for a sync call is this written to the store, once.
 */
export function tellOf(store: Store, instance: Instance): Promise<Instance | undefined> {
  return isUntold(instance) ? store.tell(instance.id) : store.get(instance.id)
}

export function isUntold({ model, told }: Instance): boolean {
  return model === 'sync' && !told
}

/** Watches an instance. The caller must call `stop`; otherwise the watch stays. */
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
