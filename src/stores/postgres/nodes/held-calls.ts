/**
 * The calls that this node runs or has claimed for its next slots, as it last knew them. Their ends are computed from it,
 * so the database does not send the arguments back. A revision that does not fit shows that another node has changed a
 * call.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import { BriefMap } from '../../../core/fairness/brief-map.ts'

export interface Held {
  instance: Instance
  /** Where it was when this node took it. */
  readonly generation: number
  /** The node that accepted it. `null`: this one. */
  readonly node: number | null
  /** When this node began it, if its row does not say so yet. */
  begunAt: number | undefined
}

export class HeldCalls {
  readonly #byId = new BriefMap<Held>()

  get(id: string): Instance | undefined {
    return this.#byId.get(id)?.instance
  }

  entry(id: string): Held | undefined {
    return this.#byId.get(id)
  }

  ids(): string[] {
    return this.#byId.keys()
  }

  /** This node has accepted or claimed the call. False if it has no lease of it. */
  took(instance: Instance, generation: number, node: number | null): boolean {
    if (!isLeased(instance)) return false
    this.#byId.set(instance.id, { instance, generation, node, begunAt: undefined })
    return true
  }

  ended(id: string): void {
    this.#byId.delete(id)
  }

  /** A newer state of a call. It counts only if this node has it. */
  changed(instance: Instance): void {
    const before = this.#byId.get(instance.id)
    if (!before) return
    if (isLeased(instance) && instance.attempt === before.instance.attempt) before.instance = instance
    else this.#byId.delete(instance.id)
  }
}

/** A node has claimed it, and the attempt is not settled. */
function isLeased({ state, attempt, settled, dueAt }: Instance): boolean {
  return !isTerminal(state) && attempt > settled && dueAt !== undefined
}
