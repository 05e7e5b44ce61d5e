/** The living nodes that have a port for links, as the database lists them. */
import type { Clock } from '../../../core/ports/runtime.ts'
import type { NodeRow } from '../nodes/membership.ts'
import { parseHostPort } from './host-port.ts'

export interface Neighbour {
  /** The public key. */
  name: string
  host: string
  port: number
}

/** The facts that a node tells of itself. */
export const ADDRESS = 'address'
export const KEY = 'linkKey'

/** Nodes say so often that they are alive. */
const FRESH_MS = 2_000

export class Neighbours {
  readonly #read: () => Promise<readonly NodeRow[]>
  readonly #clock: Clock
  #known: ReadonlyMap<string, Neighbour> = new Map()
  #readAtMs: number | undefined
  #reading: Promise<void> | undefined

  constructor(read: () => Promise<readonly NodeRow[]>, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  /** Rejects if the database cannot be read. */
  async find(name: string): Promise<Neighbour | undefined> {
    // Twice, because a reading that is under way may have begun before the node joined.
    for (let readings = 0; readings < 2 && !(this.#isFresh() && this.#known.has(name)); readings++) {
      this.#reading ??= this.#refresh()
      await this.#reading
    }
    return this.#known.get(name)
  }

  #isFresh(): boolean {
    return this.#readAtMs !== undefined && this.#clock.monotonicMs() - this.#readAtMs < FRESH_MS
  }

  async #refresh(): Promise<void> {
    try {
      const rows = await this.#read()
      this.#known = new Map(rows.flatMap(({ about }) => neighbourIn(about)).map((found) => [found.name, found]))
      this.#readAtMs = this.#clock.monotonicMs()
    } finally {
      this.#reading = undefined
    }
  }
}

function neighbourIn({ [ADDRESS]: address, [KEY]: name }: NodeRow['about']): Neighbour[] {
  const place = typeof address === 'string' ? parseHostPort(address) : undefined
  return place && typeof name === 'string' ? [{ name, ...place }] : []
}
