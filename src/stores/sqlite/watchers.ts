/** Who wants to hear of which instance, within this process. */
import { BriefMap } from '../../core/brief-map.ts'
import type { Instance } from '../../core/model.ts'
import type { Log } from '../../core/ports.ts'

type Changed = (instance: Instance) => void

export interface Watchers {
  watch(id: string, changed: Changed): () => void
  tell(instances: readonly Instance[]): void
}

/** An object of its own, so that the same callback can watch twice and end once. */
interface Watch {
  changed: Changed
  ended: boolean
}

export function createWatchers(log: Log | undefined): Watchers {
  // Replaced, never changed: whoever is told may end a watch, or begin one.
  const byId = new BriefMap<readonly Watch[]>()

  function end(id: string, watch: Watch): void {
    watch.ended = true
    const left = byId.get(id)?.filter((other) => other !== watch) ?? []
    if (left.length > 0) byId.set(id, left)
    else byId.delete(id)
  }

  function tellOne({ changed, ended }: Watch, instance: Instance): void {
    try {
      if (!ended) changed(instance)
    } catch (thrown) {
      log?.error({ err: thrown, instance: instance.id }, 'A watcher threw; the others were told all the same.')
    }
  }

  return {
    watch(id, changed) {
      const watch: Watch = { changed, ended: false }
      const others = byId.get(id)
      byId.set(id, others ? [...others, watch] : [watch])
      return () => end(id, watch)
    },

    tell(instances) {
      if (byId.size === 0) return
      for (const instance of instances) {
        const watches = byId.get(instance.id)
        if (watches) for (const watch of watches) tellOne(watch, instance)
      }
    },
  }
}
