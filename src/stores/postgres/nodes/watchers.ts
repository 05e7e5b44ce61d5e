/** The watchers of instances on this node. Each gets increasing revisions, and none twice. */
import type { Instance } from '../../../core/call/instance.ts'
import { tellWatcher } from '../../../core/call/tell-watcher.ts'
import type { Log } from '../../../core/ports/runtime.ts'

type Changed = (instance: Instance) => void

interface Watched {
  listeners: readonly Changed[]
  /** The last revision that was passed on, or that was known when the watch began. */
  revision: number
}

export interface Watchers {
  /** Passes on revisions above `known`, which is the one that this node has. */
  watch(id: string, changed: Changed, known?: number): () => void
  tell(instance: Instance): void
  /** The watched ids, each with the last revision that was passed on. */
  watched(): ReadonlyMap<string, { readonly revision: number }>
}

export function createWatchers(log: Log | undefined): Watchers {
  const byId = new Map<string, Watched>()

  return {
    watch(id, changed, known = 0) {
      // A new function for each watch, so that the same callback can watch twice and stop one of the two.
      const listener: Changed = (instance) => changed(instance)
      const before = byId.get(id)
      const watched = before ?? { listeners: [listener], revision: known }
      if (before) before.listeners = [...before.listeners, listener]
      else byId.set(id, watched)
      return () => {
        watched.listeners = watched.listeners.filter((one) => one !== listener)
        if (watched.listeners.length === 0 && byId.get(id) === watched) byId.delete(id)
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
