/**
 * Tells the watchers on this node of changes that other nodes make. A node that changes a call sends a hint to the node
 * that accepted it, where its caller most likely waits, and to the nodes that have asked for hints. Watched calls are
 * also looked up at short intervals, because hints can be lost.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
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
  /** True if the call waits for a slot of this node. It is not handed out until `changed`. */
  suspend(id: string): boolean
  /** A call as another node has left it. */
  changed(instance: Instance): void
  clock: Clock
  log: Log | undefined
  /** The number of this node. */
  node(): number
  /** Sends a line to a node or to all of them, maybe. */
  hint(node: number | 'all', line: string): void
}

/** A line that asks for hints: this mark, the node that asks, and the id of the call. */
const ASKS = '+'
/** More calls than this are only looked up. */
const MOST_ASKED = 10_000
/** Callers that wait for a call most often begin to when it is accepted. So these are forgotten when they are many. */
const MOST_ACCEPTED = 1_000

const LOOK_EVERY_MS = 100
/** Calls that run on this node are changed by others rarely. */
const OWN_EVERY = 10

export class RemoteChanges {
  readonly #parts: RemoteChangesParts
  #cancelTimer: (() => void) | undefined
  #looking = false
  #rounds = 0
  #ended = false
  /** The nodes that asked for hints, by the id of a call that this node runs. */
  readonly #askedFor = new Map<string, Set<number>>()
  /** The latest calls that this node accepts. It gets hints of their changes without asking. */
  #accepted = new Set<string>()

  constructor(parts: RemoteChangesParts) {
    this.#parts = parts
  }

  /** This node has changed a call that `node` accepted. */
  changedHere({ id, state }: Instance, node: number | null): void {
    if (node !== null && node !== this.#parts.node()) this.#parts.hint(node, id)
    const asked = this.#askedFor.size === 0 ? undefined : this.#askedFor.get(id)
    if (!asked) return
    for (const other of asked) if (other !== node) this.#parts.hint(other, id)
    if (isTerminal(state)) this.#askedFor.delete(id)
  }

  /** The id of a call that another node has changed, or a request for such hints. */
  heard(line: string): void {
    const { watchers, held, suspend, node, log } = this.#parts
    if (line.startsWith(ASKS)) {
      const [asking, id = ''] = line.slice(ASKS.length).split(' ')
      if (Number(asking) !== node() && held.get(id)) this.#remember(id, Number(asking))
      return
    }
    const id = line
    if (!suspend(id) && watchers.revisionOf(id) === undefined) return
    this.#refresh([id]).catch((err) => log?.debug({ err }, 'could not read a changed call; trying again later'))
  }

  #remember(id: string, node: number): void {
    if (this.#askedFor.size >= MOST_ASKED) for (const known of this.#askedFor.keys()) this.#forgetUnlessHeld(known)
    const asked = this.#askedFor.get(id)
    if (asked) asked.add(node)
    else if (this.#askedFor.size < MOST_ASKED) this.#askedFor.set(id, new Set([node]))
  }

  #forgetUnlessHeld(id: string): void {
    if (!this.#parts.held.get(id)) this.#askedFor.delete(id)
  }

  /** This node is about to accept the call. */
  accepting(id: string): void {
    if (this.#accepted.size >= MOST_ACCEPTED) this.#accepted = new Set()
    this.#accepted.add(id)
  }

  /** A watch of this call has begun. */
  begin(id: string): void {
    const { held } = this.#parts
    // A call is watched just before it is accepted, so this is asked after that.
    if (!held.get(id) && !this.#accepted.has(id)) queueMicrotask(() => this.#askFor(id))
    this.#lookLater()
  }

  #askFor(id: string): void {
    const { hint, node } = this.#parts
    if (!this.#accepted.has(id)) hint('all', `${ASKS}${node()} ${id}`)
  }

  #lookLater(): void {
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
    const ids = watchers.ids().filter((id) => all || !held.get(id))
    try {
      if (ids.length > 0) await this.#refresh(await this.#changed(ids))
    } catch (err) {
      log?.debug({ err }, 'could not look for changes of other nodes; trying again')
    }
    this.#looking = false
    if (watchers.ids().length > 0) this.#lookLater()
  }

  #changed(ids: readonly string[]): Promise<string[]> {
    const { batchedReads, watchers, reads } = this.#parts
    return alone(batchedReads, 'revisions', async (session) => {
      const found = await reads.revisions(session, ids)
      return found.filter(({ id, revision }) => revision > (watchers.revisionOf(id) ?? 0)).map(({ id }) => id)
    })
  }

  async #refresh(ids: readonly string[]): Promise<void> {
    const { reads, watchers, held, changed } = this.#parts
    const found = await Promise.all(ids.map((id) => reads.get(id)))
    for (const instance of found) {
      if (!instance) continue
      held.changed(instance)
      watchers.tell(instance)
      changed(instance)
    }
  }
}
