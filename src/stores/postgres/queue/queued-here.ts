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

interface Known {
  instance: Instance
  args: string
}

export class QueuedHere {
  #byId = new BriefMap<Known>()

  /** `args` are its arguments as JSON. */
  add(instance: Instance, args: string): void {
    if (args.length > MAX_CHARACTERS || instance.dueAt === undefined || isTerminal(instance.state)) return
    if (this.#byId.size >= MOST) this.#byId = new BriefMap()
    this.#byId.set(instance.id, { instance, args })
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  /** The call as this node claimed it. `undefined` if another revision was claimed than the one that is known here. */
  take(id: string, claimed: { revision: number; dueAt: number }): Instance | undefined {
    const known = this.#byId.get(id)
    this.#byId.delete(id)
    if (known?.instance.revision !== claimed.revision - 1) return undefined
    const { instance } = known
    const state = instance.state === 'streaming' ? instance.state : 'pending'
    // Not the arguments that were accepted: the caller in this process may have changed them since.
    return { ...instance, ...claimed, args: JSON.parse(known.args), state, attempt: instance.attempt + 1 }
  }
}
