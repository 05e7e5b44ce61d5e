/**
 * Who in this process wants to hear of which instance. Changes come with answers and by themselves; they are told once,
 * in the order they were made, when everything that came together is there.
 */
import type { Instance } from '../../core/model.ts'
import type { Log } from '../../core/ports.ts'

type Changed = (instance: Instance) => void

interface Watched {
  listeners: Set<Changed>
  /** Of the last change that was told. */
  revision: number
}

export interface Seen {
  watch(id: string, changed: Changed): () => void
  note(instance: Instance): void
  tell(): void
}

export interface SeenOptions {
  /** The first one watches this instance. */
  begin(id: string): void
  /** The last one has stopped. */
  end(id: string): void
  log?: Log
}

export function createSeen({ begin, end, log }: SeenOptions): Seen {
  const byId = new Map<string, Watched>()
  let noted: Instance[] = []

  function tellOne(listener: Changed, instance: Instance): void {
    try {
      listener(instance)
    } catch (thrown) {
      log?.error({ err: thrown, instance: instance.id }, 'A watcher threw; the others were told all the same.')
    }
  }

  return {
    watch(id, changed) {
      // A function of its own, so that the same callback can watch twice and end once.
      const listener: Changed = (instance) => changed(instance)
      const watched = byId.get(id) ?? { listeners: new Set(), revision: 0 }
      if (watched.listeners.size === 0) begin(id)
      watched.listeners.add(listener)
      byId.set(id, watched)
      return () => {
        if (!watched.listeners.delete(listener) || watched.listeners.size > 0) return
        byId.delete(id)
        end(id)
      }
    },
    note(instance) {
      if (byId.has(instance.id)) noted.push(instance)
    },
    tell() {
      if (noted.length === 0) return
      const changes = noted.sort((a, b) => a.revision - b.revision)
      noted = []
      for (const instance of changes) {
        const watched = byId.get(instance.id)
        if (!watched || instance.revision <= watched.revision) continue
        watched.revision = instance.revision
        for (const listener of watched.listeners) tellOne(listener, instance)
      }
    },
  }
}
