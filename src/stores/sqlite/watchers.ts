/** The watchers of instances within this process. */
import type { Instance } from '../../core/call/instance.ts'
import { tellWatcher } from '../../core/call/tell-watcher.ts'
import { BriefMap } from '../../core/fairness/brief-map.ts'
import type { Log } from '../../core/ports/runtime.ts'

type Changed = (instance: Instance) => void

export interface Watchers {
  watch(id: string, changed: Changed): () => void
  watchAll(changed: Changed): () => void
  tell(instances: readonly Instance[]): void
}

/** A new object for each watch, so that the same callback can watch twice and stop one of the two. */
interface Watch {
  changed: Changed
}

export function createWatchers(log: Log | undefined): Watchers {
  const byId = new BriefMap<Set<Watch>>()
  const all = new Set<Watch>()

  function end(id: string, watches: Set<Watch>, watch: Watch): void {
    watches.delete(watch)
    if (watches.size === 0 && byId.get(id) === watches) byId.delete(id)
  }

  return {
    watch(id, changed) {
      const watch: Watch = { changed }
      const watches = byId.get(id) ?? new Set<Watch>()
      byId.set(id, watches.add(watch))
      return () => end(id, watches, watch)
    },

    watchAll(changed) {
      const watch: Watch = { changed }
      all.add(watch)
      return () => void all.delete(watch)
    },

    tell(instances) {
      if (byId.size === 0 && all.size === 0) return
      for (const instance of instances) {
        for (const watch of all) tellWatcher(watch.changed, instance, log)
        const watches = byId.get(instance.id)
        if (watches) for (const watch of watches) tellWatcher(watch.changed, instance, log)
      }
    },
  }
}
