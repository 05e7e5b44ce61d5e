/**
 * Who in this process wants to hear of which instance. Changes come with answers and by themselves; they are told once,
 * in the order they were made, when everything that came together is there.
 */
import type { Instance } from '../../core/call/instance.ts'
import type { Log } from '../../core/ports/runtime.ts'

type Changed = (instance: Instance) => void

interface Watched {
  listeners: Set<Changed>
  /** Of the last change that was told. */
  revision: number
  /** Whether the other side tells us of every change. */
  asked: boolean
}

export interface Seen {
  watch(id: string, changed: Changed): () => void
  /** If somebody watches this instance, the other side has to know from now on. */
  ask(id: string): void
  /** A change that this process has made itself. */
  note(instance: Instance): void
  /** A change that the other side tells us of. */
  hear(instance: Instance): void
  tell(): void
}

export interface SeenOptions {
  /** Has the other side tell us of every change of this instance. */
  begin(id: string): void
  end(id: string): void
  /** Whether this process runs it: then it makes the changes itself, and is told of others without asking. */
  runsHere(id: string): boolean
  log?: Log
}

export function createSeen({ begin, end, runsHere, log }: SeenOptions): Seen {
  const byId = new Map<string, Watched>()
  let noted: Instance[] = []

  function ask(id: string, watched: Watched): void {
    watched.asked = true
    begin(id)
  }

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
      const watched = byId.get(id) ?? { listeners: new Set(), revision: 0, asked: false }
      watched.listeners.add(listener)
      byId.set(id, watched)
      if (!watched.asked && !runsHere(id)) ask(id, watched)
      return () => {
        if (!watched.listeners.delete(listener) || watched.listeners.size > 0) return
        byId.delete(id)
        if (watched.asked) end(id)
      }
    },
    ask(id) {
      const watched = byId.get(id)
      if (watched && !watched.asked) ask(id, watched)
    },
    note(instance) {
      if (byId.has(instance.id)) noted.push(instance)
    },
    hear(instance) {
      const watched = byId.get(instance.id)
      if (!watched) return end(instance.id)
      watched.asked = true
      noted.push(instance)
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
