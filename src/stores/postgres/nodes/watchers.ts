/** The watchers of instances on this node. Each gets increasing revisions, and none twice. */
import type { Instance } from '../../../core/call/instance.ts'
import { tellWatcher } from '../../../core/call/tell-watcher.ts'
import { BriefMap } from '../../../core/fairness/brief-map.ts'
import type { Log } from '../../../core/ports/runtime.ts'

type Changed = (instance: Instance) => void

/** An object for each watch, so that the same callback can watch twice and stop one of the two. */
interface Watch {
  readonly changed: Changed
}

interface Watched {
  watches: readonly Watch[]
  /** The last revision that was passed on, or that was known when the watch began. */
  revision: number
}

export interface Watchers {
  /** Passes on revisions above `known`, which is the one that this node has. */
  watch(id: string, changed: Changed, known?: number): () => void
  /** Passes on every change that this node makes or hears of. */
  watchAll(changed: Changed): () => void
  tell(instance: Instance): void
  /** The watched ids. */
  ids(): string[]
  /** The last revision that the watchers of a call know. `undefined`: it has none. */
  revisionOf(id: string): number | undefined
}

export function createWatchers(log: Log | undefined): Watchers {
  const byId = new BriefMap<Watched>()
  const all = new Set<Watch>()

  return {
    watch(id, changed, known = 0) {
      const watch: Watch = { changed }
      const before = byId.get(id)
      const watched = before ?? { watches: [watch], revision: known }
      if (before) before.watches = [...before.watches, watch]
      else byId.set(id, watched)
      return () => {
        const [only] = watched.watches
        watched.watches = only === watch ? watched.watches.slice(1) : watched.watches.filter((one) => one !== watch)
        if (watched.watches.length === 0 && byId.get(id) === watched) byId.delete(id)
      }
    },
    watchAll(changed) {
      const watch: Watch = { changed }
      all.add(watch)
      return () => void all.delete(watch)
    },
    tell(instance) {
      for (const { changed } of all) tellWatcher(changed, instance, log)
      const watched = byId.get(instance.id)
      if (!watched || instance.revision <= watched.revision) return
      watched.revision = instance.revision
      for (const { changed } of watched.watches) tellWatcher(changed, instance, log)
    },
    ids: () => byId.keys(),
    revisionOf: (id) => byId.get(id)?.revision,
  }
}
