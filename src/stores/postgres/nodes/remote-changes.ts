/**
 * Tells the watchers on this node of changes that other nodes make. A node that changes a call sends a hint to the node
 * that accepted it, where its caller most likely waits. All other watched calls are looked up at short intervals, and so
 * are those whose hints are lost.
 */
import type { Instance } from '../../../core/call/instance.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import type { CallReads } from '../calls/reads.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import type { HeldCalls } from './held-calls.ts'
import type { Watchers } from './watchers.ts'

export interface RemoteChangesParts {
  batchedReads: Batches
  reads: CallReads
  watchers: Watchers
  held: HeldCalls
  clock: Clock
  log: Log | undefined
  /** The number of this node. */
  node(): number
  /** Sends a line to a node, maybe. */
  hint(node: number, line: string): void
}

const LOOK_EVERY_MS = 100
/** Calls that run on this node are changed by others rarely. */
const OWN_EVERY = 10

export class RemoteChanges {
  readonly #parts: RemoteChangesParts
  #cancelTimer: (() => void) | undefined
  #looking = false
  #rounds = 0
  #ended = false

  constructor(parts: RemoteChangesParts) {
    this.#parts = parts
  }

  /** This node has changed a call that `node` accepted. */
  changedHere({ id }: Instance, node: number | null): void {
    if (node !== null && node !== this.#parts.node()) this.#parts.hint(node, id)
  }

  /** Another node has changed this call. */
  heard(id: string): void {
    const { watchers, log } = this.#parts
    if (!watchers.watched().has(id)) return
    this.#refresh([id]).catch((err) => log?.debug({ err }, 'could not read a changed call; it is read again soon'))
  }

  /** A watch has begun. */
  begin(): void {
    if (this.#cancelTimer || this.#looking || this.#ended) return
    this.#cancelTimer = this.#parts.clock.schedule(LOOK_EVERY_MS, () => void this.#look())
  }

  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
  }

  async #look(): Promise<void> {
    this.#cancelTimer = undefined
    this.#looking = true
    const { watchers, held, log } = this.#parts
    const all = this.#rounds++ % OWN_EVERY === 0
    const ids = [...watchers.watched().keys()].filter((id) => all || !held.get(id))
    try {
      if (ids.length > 0) await this.#refresh(await this.#changed(ids))
    } catch (err) {
      log?.debug({ err }, 'could not look for changes of other nodes; trying again')
    }
    this.#looking = false
    if (watchers.watched().size > 0) this.begin()
  }

  #changed(ids: readonly string[]): Promise<string[]> {
    const { batchedReads, watchers, reads } = this.#parts
    return alone(batchedReads, 'revisions', async (session) => {
      const found = await reads.revisions(session, ids)
      const watched = watchers.watched()
      return found.filter(({ id, revision }) => revision > (watched.get(id)?.revision ?? 0)).map(({ id }) => id)
    })
  }

  async #refresh(ids: readonly string[]): Promise<void> {
    const { reads, watchers, held } = this.#parts
    const found = await Promise.all(ids.map((id) => reads.get(id)))
    for (const instance of found) {
      if (!instance) continue
      held.changed(instance)
      watchers.tell(instance)
    }
  }
}
