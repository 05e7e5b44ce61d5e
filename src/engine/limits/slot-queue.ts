/**
 * Sync calls that wait briefly for a slot, because a slot is likely to become free before a retry would arrive. The
 * queue is short, and neither one caller nor one tenant can fill it alone.
 */
import { FairTurns, type Weights } from '../../core/fairness/fair-turns.ts'
import type { SlotOwner } from '../../core/fairness/slot-shares.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Clock } from '../../core/ports/runtime.ts'

interface Waiter {
  operation: Operation
  grant(taken: boolean | Promise<boolean>): void
}

interface Line {
  who: SlotOwner
  /** In order of arrival. */
  waiters: Set<Waiter>
}

/** Takes a slot if one is free. */
type Take = (operation: Operation, who: SlotOwner) => boolean | Promise<boolean>

const CALLER_PART = 8
const TENANT_PART = 2

export class SlotQueue {
  readonly #clock: Clock
  readonly #max: number
  readonly #weights: Weights | undefined
  readonly #turns = new FairTurns<Line>()
  readonly #ofTenant = new Map<string, number>()
  #size = 0

  constructor(clock: Clock, max: number, weights?: Weights) {
    this.#clock = clock
    this.#max = max
    this.#weights = weights
  }

  get size(): number {
    return this.#size
  }

  /** True if a slot was taken in time. False at once if too many calls wait. */
  wait(operation: Operation, who: SlotOwner, waitMs: number): Promise<boolean> {
    const { tenant, owner } = who
    const known = this.#turns.get(who)
    const ofTenant = this.#ofTenant.get(tenant) ?? 0
    const full =
      this.#size >= this.#max ||
      ofTenant >= Math.ceil(this.#max / TENANT_PART) ||
      (known?.waiters.size ?? 0) >= Math.ceil(this.#max / CALLER_PART)
    if (full || waitMs <= 0) return Promise.resolve(false)
    const line = known ?? { who: { tenant, owner }, waiters: new Set() }
    if (!known) this.#turns.add(who, line)
    return new Promise((resolve) => {
      const grant = (taken: boolean | Promise<boolean>) => {
        cancel()
        line.waiters.delete(waiter)
        this.#count(tenant, -1)
        resolve(taken)
      }
      const waiter: Waiter = { operation, grant }
      const cancel = this.#clock.schedule(waitMs, () => grant(false))
      line.waiters.add(waiter)
      this.#count(tenant, 1)
    })
  }

  /** Gives up to `most` slots to waiting calls. */
  serve(take: Take, most: number): void {
    let left = most
    this.#turns.give(({ who, waiters }) => {
      if (left <= 0) return 'enough'
      if (waiters.size === 0) return 'idle'
      // A call that waits for a slot of its operation must not block the calls behind it.
      for (const waiter of waiters) {
        const taken = take(waiter.operation, who)
        if (taken === false) continue
        left--
        waiter.grant(taken)
        return 'used'
      }
      return 'blocked'
    }, this.#weights)
  }

  #count(tenant: string, calls: 1 | -1): void {
    const now = (this.#ofTenant.get(tenant) ?? 0) + calls
    this.#size += calls
    if (now > 0) this.#ofTenant.set(tenant, now)
    else this.#ofTenant.delete(tenant)
  }
}
