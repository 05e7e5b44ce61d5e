/** Who wants to hear of which instance, within this process. */
import type { Instance } from '../../core/model.ts'
import type { Log } from '../../core/ports.ts'

type Changed = (instance: Instance) => void

export interface Watchers {
  watch(id: string, changed: Changed): () => void
  tell(instances: readonly Instance[]): void
}

export function createWatchers(log: Log | undefined): Watchers {
  const byId = new Map<string, Set<Changed>>()
  return {
    watch(id, changed) {
      // A function of its own, so that the same callback can watch twice and end once.
      const listener: Changed = (instance) => changed(instance)
      const listeners = byId.get(id) ?? new Set()
      byId.set(id, listeners.add(listener))
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0 && byId.get(id) === listeners) byId.delete(id)
      }
    },

    tell(instances) {
      if (byId.size === 0) return
      for (const instance of instances) {
        for (const listener of byId.get(instance.id) ?? []) {
          try {
            listener(instance)
          } catch (thrown) {
            log?.error({ err: thrown, instance: instance.id }, 'A watcher threw; the others were told all the same.')
          }
        }
      }
    },
  }
}
