/**
 * The instances whose changes one other process gets: those it asked to watch, and those it runs while others change
 * them.
 */
import type { Instance } from '../../core/call/instance.ts'
import type { Store } from '../../core/ports/store.ts'

export interface Watching {
  watch(id: string): void
  /** Watches until the process no longer runs the call, or longer if the process asks. */
  watchUnasked(id: string): void
  unwatch(id: string): void
  unwatchUnasked(id: string): void
  /** Another process runs the call now. The former one gets this change and watches until it stops the watch. */
  handOver(instance: Instance): void
  /** The process that made this change gets it in the answer, so it is not sent again. */
  toldAlready(instance: Instance): void
  stop(): void
}

interface Watched {
  stop(): void
  asked: boolean
  /** The last revision that was sent in an answer. */
  revision: number
}

export function createWatching(store: Store, tell: (instance: Instance) => void): Watching {
  const byId = new Map<string, Watched>()

  function watch(id: string, asked: boolean): void {
    const before = byId.get(id)
    if (before) before.asked ||= asked
    else byId.set(id, { stop: store.watch(id, later), asked, revision: 0 })
  }

  /** Waits until the answers of the same commit have been sent. */
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
      // If it is already watching, the store reports this change.
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
