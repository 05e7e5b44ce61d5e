/** What one other process hears of: instances it has asked to watch, and those it runs while somebody else changes them. */
import type { Instance } from '../../core/call/instance.ts'
import type { Store } from '../../core/ports/store.ts'

export interface Watching {
  watch(id: string): void
  /** Until it no longer runs it, unless it asks. */
  watchUnasked(id: string): void
  unwatch(id: string): void
  unwatchUnasked(id: string): void
  /** Somebody else runs it now: it is told, and goes on watching until it says that it does not. */
  handOver(instance: Instance): void
  /** Its maker hears of this change by the answer, and not once more. */
  toldAlready(instance: Instance): void
  stop(): void
}

interface Watched {
  stop(): void
  asked: boolean
  /** The last that was told by an answer. */
  revision: number
}

export function createWatching(store: Store, tell: (instance: Instance) => void): Watching {
  const byId = new Map<string, Watched>()

  function watch(id: string, asked: boolean): void {
    const before = byId.get(id)
    if (before) before.asked ||= asked
    else byId.set(id, { stop: store.watch(id, later), asked, revision: 0 })
  }

  /** The answers of the same commit come first. */
  function later(instance: Instance): void {
    queueMicrotask(() => queueMicrotask(() => send(instance)))
  }

  function send(instance: Instance): void {
    const watched = byId.get(instance.id)
    if (watched && watched.revision !== instance.revision) tell(instance)
  }

  function unwatch(id: string): void {
    byId.get(id)?.stop()
    byId.delete(id)
  }

  return {
    watch: (id) => watch(id, true),
    watchUnasked: (id) => watch(id, false),
    unwatch,
    unwatchUnasked(id) {
      if (byId.get(id)?.asked === false) unwatch(id)
    },
    handOver(instance) {
      const { id } = instance
      // Where it watched already, the store tells it of this.
      if (byId.has(id)) return
      watch(id, true)
      tell(instance)
    },
    toldAlready({ id, revision }) {
      const watched = byId.get(id)
      if (watched) watched.revision = revision
    },
    stop() {
      for (const { stop } of byId.values()) stop()
      byId.clear()
    },
  }
}
