/** The watchers of instances on this node. Each gets increasing revisions, and none twice. */
import type { Instance } from '../../../core/call/instance.ts'
import { tellWatcher } from '../../../core/call/tell-watcher.ts'
import type { Log } from '../../../core/ports/runtime.ts'

type Changed = (instance: Instance) => void

interface Watched {
  listeners: Set<Changed>
  /** The last revision that was passed on. */
  revision: number
}

export interface Watchers {
  watch(id: string, changed: Changed): () => void
  tell(instance: Instance): void
  /** The watched ids, each with the last revision that was passed on. */
  watched(): ReadonlyMap<string, { readonly revision: number }>
}

export function createWatchers(log: Log | undefined): Watchers {
  const byId = new Map<string, Watched>()

  return {
    watch(id, changed) {
      // A new function for each watch, so that the same callback can watch twice and stop one of the two.
      const listener: Changed = (instance) => changed(instance)
      const watched = byId.get(id) ?? { listeners: new Set(), revision: 0 }
      watched.listeners.add(listener)
      byId.set(id, watched)
      return () => {
        watched.listeners.delete(listener)
        if (watched.listeners.size === 0 && byId.get(id) === watched) byId.delete(id)
      }
    },
    tell(instance) {
      const watched = byId.get(instance.id)
      if (!watched || instance.revision <= watched.revision) return
      watched.revision = instance.revision
      for (const listener of watched.listeners) tellWatcher(listener, instance, log)
    },
    watched: () => byId,
  }
}
