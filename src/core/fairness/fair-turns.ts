/**
 * Round robin over tenants, and over callers within a tenant. A weight sets how many calls a turn has. A caller without
 * work is skipped, so no turn is lost. The caller of this class decides what a turn does.
 */
import type { SlotOwner } from './slot-shares.ts'

/** Calls per turn, by tenant and by caller (`issuer|subject`). Default: 1. */
export interface Weights {
  tenants?: Readonly<Record<string, number>>
  callers?: Readonly<Record<string, number>>
}

/**
 * The result of a turn: `used`; `blocked` (this caller cannot use a turn now); `idle` (this caller has no more work);
 * `enough` (stop giving turns).
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
  /** In turn order. */
  callers: Map<string, CallerTurn<V>>
  /** Callers blocked in this round. */
  blocked: CallerTurn<V>[]
}

export class FairTurns<V> {
  /** In turn order. */
  readonly #tenants = new Map<string, TenantTurn<V>>()

  get({ tenant, owner }: SlotOwner): V | undefined {
    return this.#tenants.get(tenant)?.callers.get(owner)?.value
  }

  /** Adds a caller at the end of the order. */
  add({ tenant, owner }: SlotOwner, value: V): void {
    let turn = this.#tenants.get(tenant)
    if (!turn) {
      turn = { tenant, used: 0, callers: new Map(), blocked: [] }
      this.#tenants.set(tenant, turn)
    }
    turn.callers.set(owner, { owner, value, used: 0 })
  }

  /**
   * Gives turns until `enough` is returned or no caller can use one. The cost grows with the used and blocked turns, not
   * with the number of waiting callers.
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

/** Reads own properties only, because names come from configuration and requests. */
function weightOf(weights: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(weights, name) ? (weights[name] ?? 1) : 1
}
