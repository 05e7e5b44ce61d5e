/**
 * The watchers of instances in this process. Changes arrive in answers and in notices. Each change is passed on once,
 * in the order of revisions, after all messages of one write have been handled.
 */
import type { Instance } from '../../core/call/instance.ts'
import { tellWatcher } from '../../core/call/tell-watcher.ts'
import type { Log } from '../../core/ports/runtime.ts'

type Changed = (instance: Instance) => void

interface Watched {
  listeners: Set<Changed>
  /** The revision of the last change that was passed on. */
  revision: number
  /** True if the other side reports every change. */
  asked: boolean
}

export interface Seen {
  watch(id: string, changed: Changed): () => void
  /** Passes on every change that this process makes. */
  watchAll(changed: Changed): () => void
  /** If this instance has watchers, asks the other side to report its changes from now on. */
  ask(id: string): void
  /** A change that this process has made itself. */
  note(instance: Instance): void
  /** A change that the other side reported. */
  hear(instance: Instance): void
  tell(): void
}

export interface SeenOptions {
  /** Asks the other side to report every change of this instance. */
  begin(id: string): void
  end(id: string): void
  /** True if this process runs it: it makes the changes itself, and other changes are reported without asking. */
  runsHere(id: string): boolean
  log?: Log
}

export function createSeen({ begin, end, runsHere, log }: SeenOptions): Seen {
  const byId = new Map<string, Watched>()
  const all = new Set<{ changed: Changed }>()
  let noted: Instance[] = []

  function ask(id: string, watched: Watched): void {
    watched.asked = true
    begin(id)
  }

  return {
    watch(id, changed) {
      // A new function for each watch, so that the same callback can watch twice and stop one of the two.
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
    watchAll(changed) {
      const watch = { changed }
      all.add(watch)
      return () => void all.delete(watch)
    },
    note(instance) {
      for (const { changed } of all) tellWatcher(changed, instance, log)
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
        for (const listener of watched.listeners) tellWatcher(listener, instance, log)
      }
    },
  }
}
