/** The other nodes on the database: limits that all count together, and requests to stop a call. */
import { type Counts, Tally } from '../../../core/fairness/tally.ts'
import type { Peers, SharedLimitsListener } from '../../../core/ports/peers.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import type { Session } from '../connect/session.ts'
import type { Batches } from '../writes/batches.ts'
import { decodeMessage, encodeMessage, isMessage, type Message } from './messages.ts'
import { NodeSiblings } from './siblings.ts'
import { Slots } from './slots.ts'
import { Tokens } from './tokens.ts'

export interface NodePeersParts {
  /** The schema's name, quoted. */
  schema: string
  writes: Batches
  clock: Clock
  log: Log | undefined
  /** The database's clock. */
  now(): number
  node(): number
  missing(session: Session, node: number): Promise<void>
  /** Sends a line to a node, or to all of them, soon or never. */
  tell(to: number | 'all', line: string): void
}

/** Most calls end within this time, and are then never reported. */
const COUNTS_DELAY_MS = 1_000
/** Callers in one message. */
const COUNTS_AT_ONCE = 50

export class NodePeers implements Peers {
  readonly limits: Peers['limits']
  readonly siblings: Peers['siblings']
  readonly #parts: NodePeersParts
  readonly #slots: Slots
  readonly #tokens: Tokens
  readonly #siblings: NodeSiblings
  #listener: SharedLimitsListener | undefined

  constructor(parts: NodePeersParts) {
    this.#parts = parts
    const { schema } = parts
    const slots = new Slots({
      ...parts,
      shareSlots: `${schema}.share_slots`,
      hint: (node, operation) => this.#tell(node, ['slots', operation]),
      kept: (operation) => this.#listener?.kept(operation),
    })
    const tokens = new Tokens({ ...parts, takeTokens: `${schema}.take_tokens`, buckets: `${schema}.buckets` })
    const tally = new Tally(parts.clock, COUNTS_DELAY_MS, (...counts) => this.#tellCounts(...counts))
    this.#slots = slots
    this.#tokens = tokens
    this.limits = {
      pollsApart: true,
      takeToken: (rules, key) => tokens.take(rules, key),
      enter: (operation, most, waits) => slots.enter(operation, most, waits),
      entered: (operation) => slots.entered(operation),
      leave: (operation) => slots.leave(operation),
      counted: (who, calls) => tally.add(who, calls),
      listen: (listener) => {
        this.#listener = listener
      },
    }
    this.#siblings = new NodeSiblings(parts.clock, (to, message) => this.#tell(to, message))
    this.siblings = this.#siblings
  }

  /** True if the line is a message between nodes. */
  heard(line: string): boolean {
    if (!isMessage(line)) return false
    const { from, message } = decodeMessage(line)
    if (from !== this.#parts.node()) this.#receive(from, message)
    return true
  }

  /** This node has a new number. */
  renumbered(): void {
    this.#slots.renumbered()
  }

  /** Slots of these operations are free, because the node that had them is gone. */
  freed(operations: readonly string[]): void {
    for (const operation of operations) {
      this.#slots.heard(operation)
      this.#tell('all', ['slots', operation])
    }
  }

  /** Gives back what this node has taken. */
  async end(): Promise<void> {
    await Promise.all([this.#slots.end(), this.#tokens.end()])
  }

  #receive(from: number, message: Message): void {
    if (message[0] === 'slots') this.#slots.heard(message[1])
    else if (message[0] === 'counts') this.#listener?.counted(message[1], message[2])
    else this.#siblings.receive(from, message)
  }

  /** A message that is lost or too long is made up for when the limits are counted again from the store. */
  #tellCounts(open: Counts[0], queued: number): void {
    this.#tell('all', ['counts', open.slice(0, COUNTS_AT_ONCE), queued])
    for (let at = COUNTS_AT_ONCE; at < open.length; at += COUNTS_AT_ONCE)
      this.#tell('all', ['counts', open.slice(at, at + COUNTS_AT_ONCE), 0])
  }

  #tell(to: number | 'all', message: Message): void {
    const line = encodeMessage(this.#parts.node(), message)
    if (line !== undefined) this.#parts.tell(to, line)
  }
}
