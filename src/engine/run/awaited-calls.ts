/**
 * Calls whose caller waits on this node for the outcome. Such an outcome need not be kept for polling, unless the store
 * says that another caller has learned of the call (`Store.tell`).
 */

import { BriefMap } from '../../core/fairness/brief-map.ts'

export class AwaitedCalls {
  readonly #ids = new BriefMap<true>()

  expectDirectly(id: string): void {
    this.#ids.set(id, true)
  }

  isAwaited(id: string): boolean {
    return this.#ids.has(id)
  }

  /** The wait is over, or the call ends. True if the caller was still waiting. */
  end(id: string): boolean {
    return this.#ids.delete(id)
  }
}
