/**
 * Whose turn it is: tenants in turn, and within a tenant its callers in turn, each with as many calls in a row as its
 * weight says. One that has nothing to do is left out, so that no turn is lost. What is done in a turn is left to others.
 */
import type { SlotOwner } from './slot-shares.ts'

/** How many calls one turn has, by tenant and by caller (`issuer|subject`); 1 for those that are not named. */
export interface Weights {
  tenants?: Readonly<Record<string, number>>
  callers?: Readonly<Record<string, number>>
}

/**
 * What became of a turn: it was used; it could not be used now, and neither could another of this caller; there is
 * nothing to do for this caller any more; or nobody needs a turn now.
 */
export type TurnUse = 'used' | 'blocked' | 'idle' | 'enough'

interface CallerTurn<V> {
  owner: string
  value: V
  used: number
}

interface TenantTurn<V> {
  tenant: string
  used: number
  /** In the order of their turns. */
  callers: Map<string, CallerTurn<V>>
  /** Those that were blocked in this round. */
  blocked: CallerTurn<V>[]
}

export class FairTurns<V> {
  /** In the order of their turns. */
  readonly #tenants = new Map<string, TenantTurn<V>>()

  get({ tenant, owner }: SlotOwner): V | undefined {
    return this.#tenants.get(tenant)?.callers.get(owner)?.value
  }

  /** Its turn comes after everybody's who is here. */
  add({ tenant, owner }: SlotOwner, value: V): void {
    let turn = this.#tenants.get(tenant)
    if (!turn) {
      turn = { tenant, used: 0, callers: new Map(), blocked: [] }
      this.#tenants.set(tenant, turn)
    }
    turn.callers.set(owner, { owner, value, used: 0 })
  }

  /**
   * Gives out turns until there is enough, or nobody can use one. It costs as much as there are turns that were used or
   * could not be; who is further behind costs nothing.
   */
  give(use: (value: V, owner: string, tenant: string) => TurnUse, { tenants = {}, callers = {} }: Weights = {}): void {
    const blocked: TenantTurn<V>[] = []
    for (let turn = first(this.#tenants); turn; turn = first(this.#tenants)) {
      const caller = first(turn.callers)
      if (!caller) {
        this.#tenants.delete(turn.tenant)
        continue
      }
      const became = use(caller.value, caller.owner, turn.tenant)
      if (became === 'enough') break
      if (became === 'used') {
        if (++caller.used >= weightOf(callers, caller.owner)) toBack(turn.callers, caller.owner, caller)
        if (++turn.used >= weightOf(tenants, turn.tenant)) toBack(this.#tenants, turn.tenant, turn)
        continue
      }
      turn.callers.delete(caller.owner)
      if (became === 'idle') continue
      if (turn.blocked.push(caller) === 1) blocked.push(turn)
    }
    for (const turn of blocked) {
      for (const caller of turn.blocked.splice(0)) turn.callers.set(caller.owner, caller)
      if (!this.#tenants.has(turn.tenant)) this.#tenants.set(turn.tenant, turn)
    }
  }

  clear(): void {
    this.#tenants.clear()
  }
}

function toBack<T extends { used: number }>(turns: Map<string, T>, key: string, turn: T): void {
  turn.used = 0
  turns.delete(key)
  turns.set(key, turn)
}

function first<T>(turns: Map<string, T>): T | undefined {
  return turns.values().next().value
}

/** Own properties only: names come from outside. */
function weightOf(weights: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(weights, name) ? (weights[name] ?? 1) : 1
}
