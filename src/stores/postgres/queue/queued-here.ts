/**
 * The calls that this node has put into the queue, as it stored them. If it claims one that was not changed since, the
 * database does not send it back. Other nodes claim some of them, so all are forgotten when they are many.
 */
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import { BriefMap } from '../../../core/fairness/brief-map.ts'

const MOST = 4_096
/** Of its arguments as JSON. Larger calls are read again. */
const MAX_CHARACTERS = 2_048

export class QueuedHere {
  #byId = new BriefMap<Instance>()

  add(instance: Instance, characters: number): void {
    if (characters > MAX_CHARACTERS || instance.dueAt === undefined || isTerminal(instance.state)) return
    if (this.#byId.size >= MOST) this.#byId = new BriefMap()
    this.#byId.set(instance.id, instance)
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  /** The call as this node claimed it. `undefined` if another revision was claimed than the one that is known here. */
  take(id: string, claimed: { revision: number; dueAt: number }): Instance | undefined {
    const known = this.#byId.get(id)
    this.#byId.delete(id)
    if (known?.revision !== claimed.revision - 1) return undefined
    const state = known.state === 'streaming' ? known.state : 'pending'
    return { ...known, ...claimed, state, attempt: known.attempt + 1 }
  }
}
