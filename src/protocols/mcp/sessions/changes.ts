/** Notifies clients when the list of tools or a resource changes. */
import { Fault } from '../../../core/fault.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'
import { REGISTRY_URI } from '../resources.ts'
import { notification } from '../rpc.ts'
import type { OfferedResources } from '../tools/offers.ts'
import type { RpcNotification } from '../wire.ts'

export interface Wanted {
  tools: boolean
  /** Addresses of resources. A function is called at each change, because older clients can add addresses later. */
  resources: readonly string[] | (() => Promise<ReadonlySet<string>>)
}

const MAX_PER_CALLER = 100

type Change = { kind: 'tools' } | { kind: 'resource'; uri: string }

/** Merges changes for a slow client, because a notification only says that something changed. */
class Waiting {
  readonly owner: string
  readonly #changes = new Map<string, Change>()
  #wake: (() => void) | undefined

  constructor(owner: string) {
    this.owner = owner
  }

  add(change: Change): void {
    this.#changes.set(change.kind === 'tools' ? '' : change.uri, change)
    this.#wake?.()
  }

  wake(): void {
    this.#wake?.()
  }

  async next(): Promise<readonly Change[]> {
    if (this.#changes.size === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    const changes = [...this.#changes.values()]
    this.#changes.clear()
    return changes
  }
}

export class Changes {
  readonly #registry: Pick<Catalog, 'watch'>
  readonly #offered: OfferedResources
  readonly #open = new Set<Waiting>()
  /** Stops watching. `undefined` while no client waits. */
  #stop: (() => void) | undefined
  #closed = false

  constructor(registry: Pick<Catalog, 'watch'>, offered: OfferedResources) {
    this.#registry = registry
    this.#offered = offered
  }

  /** Checks the caller's number of open streams. Call this before a stream starts. */
  requireRoom(owner: string): void {
    const open = [...this.#open].filter((waiting) => waiting.owner === owner).length
    if (open < MAX_PER_CALLER) return
    const message = `You already have ${MAX_PER_CALLER} open notification streams. Close some of them.`
    throw new Fault('overloaded', message, { code: 'TOO_MANY_STREAMS', retryAfterMs: 1_000 })
  }

  /** Yields every change until the signal aborts or the server closes. */
  async *watch(wanted: Wanted, owner: string, signal: AbortSignal): AsyncGenerator<RpcNotification, void> {
    const waiting = new Waiting(owner)
    const wake = () => waiting.wake()
    const { tools, resources } = wanted
    this.#open.add(waiting)
    this.#stop ??= this.#watchAll()
    signal.addEventListener('abort', wake, { once: true })
    try {
      while (!signal.aborted && !this.#closed) {
        const changes = await waiting.next()
        const watched = typeof resources === 'function' ? await resources() : new Set(resources)
        for (const change of changes) {
          if (change.kind === 'tools' && tools) yield notification('notifications/tools/list_changed', {})
          else if (change.kind === 'resource' && watched.has(change.uri))
            yield notification('notifications/resources/updated', { uri: change.uri })
        }
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#open.delete(waiting)
      if (this.#open.size === 0) {
        this.#stop?.()
        this.#stop = undefined
      }
    }
  }

  #watchAll(): () => void {
    const tell = (change: Change) => {
      for (const waiting of this.#open) waiting.add(change)
    }
    const stops = [
      this.#registry.watch(() => {
        tell({ kind: 'tools' })
        tell({ kind: 'resource', uri: REGISTRY_URI })
      }),
      this.#offered.watch((uri) => tell({ kind: 'resource', uri })),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** Ends all streams. */
  close(): void {
    this.#closed = true
    for (const waiting of this.#open) waiting.wake()
  }
}
