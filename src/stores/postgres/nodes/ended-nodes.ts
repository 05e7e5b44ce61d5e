/** Learns from the server that started this process which of its other processes have ended. */
import type { NodeEnds } from '../../../core/ports/store.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'
import type { Takeover } from './takeover.ts'

export interface EndedNodesParts {
  writes: Batches
  takeover: Takeover
  /** The number of this node. */
  node(): number
  /** Slots of these operations are free. */
  freed(operations: readonly string[]): void
  /** Calls are due now. */
  wake(): void
}

export class EndedNodes implements NodeEnds {
  readonly #parts: EndedNodesParts
  readonly #listeners: ((node: number) => void)[] = []

  constructor(parts: EndedNodesParts) {
    this.#parts = parts
  }

  tellNumber(told: (node: number) => void): void {
    this.#listeners.push(told)
    told(this.#parts.node())
  }

  /** This node has a new number. */
  renumbered(): void {
    for (const told of this.#listeners) told(this.#parts.node())
  }

  async ended(node: number): Promise<void> {
    const { writes, takeover, freed, wake } = this.#parts
    freed(await alone(writes, 'ended', (session) => takeover.ofEnded(session, node)))
    wake()
  }
}
