/** The connections of one node: for writes, for reads, and for claims. All of them are down together. */
import type { Log } from '../../../core/ports/runtime.ts'
import { Batches } from '../writes/batches.ts'
import { Reachability } from './reachability.ts'
import { Connection, type Session, type SessionOptions } from './session.ts'

export interface LinesParts {
  settings: SessionOptions
  counts: { writes?: number; reads?: number }
  /** A statement named a table that is gone. */
  missingTable(session: Session): Promise<unknown>
  log: Log | undefined
  /** True if other nodes use the database, too. */
  shared(): boolean
}

/** How long a write whose answer was lost is repeated before its caller is told that the outcome is unknown. */
const DOUBT_MS = 5_000

export class Lines {
  readonly writes: Batches
  readonly reads: Batches
  /** Apart from writes, because a claim takes several statements. */
  readonly claims: Batches
  readonly #parts: LinesParts
  readonly #connections: Connection[] = []
  readonly #reachability: Reachability

  constructor(parts: LinesParts) {
    this.#parts = parts
    const { settings, counts, log } = parts
    this.#reachability = new Reachability({
      probe: () => this.#probe(),
      changed: () => {
        for (const batches of [this.writes, this.reads, this.claims]) batches.reachabilityChanged()
      },
      log,
      shown: settings.address.shown,
    })
    // Four share the work best: batches of 32 over four made 1.3 of the rate of one batch of 64.
    this.writes = this.#open(counts.writes ?? 4)
    this.reads = this.#open(counts.reads ?? 2)
    this.claims = this.#open(1)
  }

  /** Waits for the requests under way. */
  async close(): Promise<void> {
    await Promise.all([this.writes, this.reads, this.claims].map((batches) => batches.end()))
    this.#reachability.end()
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  #open(count: number): Batches {
    const connections = Array.from({ length: count }, () => new Connection(this.#parts.settings))
    this.#connections.push(...connections)
    return new Batches({
      connections,
      down: () => this.#reachability.fault,
      unreachable: (thrown) => {
        if (!this.#connections.some(({ isOpen }) => isOpen)) this.#reachability.failed(thrown)
      },
      missingTable: (session) => this.#parts.missingTable(session),
      log: this.#parts.log,
      shared: () => this.#parts.shared(),
      doubtMs: DOUBT_MS,
    })
  }

  async #probe(): Promise<void> {
    const connection = new Connection(this.#parts.settings)
    await connection.open()
    await connection.close()
  }
}
