/**
 * Claims due calls: at once when woken, when the next call is due, and at intervals for calls of other nodes. One claim
 * runs at a time. The worker decides what happens to a claimed call.
 */

import type { Instance } from '../../core/call/instance.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Claim, Claimed, Store } from '../../core/ports/store.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'

export interface ClaimingParts {
  env: Environment
  registry: Registry
  store: Store
  limits: Limits
  leaseMs: number
  /** The longest interval between two claims, to find due calls of other nodes and of crashed ones. */
  claimEveryMs: number
  begin(instance: Instance): void
  /** Gives back a call that was claimed while the node began to stop. */
  giveBack(instance: Instance): Promise<void>
}

/** Child calls are claimed even without a free slot, at most this many at a time. */
const CHILD_BATCH = 64

export class Claiming {
  readonly #parts: ClaimingParts
  /** The operations with a concurrency limit, from the last seen list of operations. */
  #bounded: readonly Operation[] = []
  #boundedOf: readonly Operation[] = []
  #claiming = false
  #underWay: Promise<void> | undefined
  #again = false
  #stopped = false
  #cancelTimer: (() => void) | undefined

  constructor(parts: ClaimingParts) {
    this.#parts = parts
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /** Claims due calls now. */
  wake(): void {
    if (this.#stopped) this.#parts.limits.releaseKept()
    else if (this.#claiming) this.#again = true
    else this.#underWay = this.#claim()
  }

  /** Stops claiming. Resolves when the calls of the current claim are started or given back. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#underWay
    this.#parts.limits.releaseKept()
  }

  async #claim(): Promise<void> {
    const { env, limits, store, begin, giveBack } = this.#parts
    this.#claiming = true
    this.#cancelTimer?.()
    let nextInMs = this.#parts.claimEveryMs
    let lacking: Claimed['lacking']
    const { free, ends } = limits
    try {
      const claimed = await store.claim(this.#claimFor(free))
      lacking = claimed.lacking
      for (const instance of claimed.instances) {
        if (this.#stopped) await giveBack(instance)
        else begin(instance)
      }
      // A call may have been left in the queue because of a slot that was freed meanwhile.
      if (claimed.instances.length === free || (limits.ends !== ends && limits.queued > 0)) this.#again = true
      // Without a free slot the next due time does not matter: a freed slot wakes the loop.
      const { nextDueAt = Number.POSITIVE_INFINITY, askAgainAt = Number.POSITIVE_INFINITY } = claimed
      if (free > 0) nextInMs = Math.min(nextInMs, Math.max(1, Math.min(nextDueAt, askAgainAt) - env.clock.now()))
    } catch (thrown) {
      env.log.error({ err: thrown }, 'could not claim calls; trying again')
    }
    limits.claimed(free > 0, this.#bounded, lacking)
    this.#claiming = false
    if (this.#stopped) return
    if (this.#again && limits.free > 0) {
      this.#again = false
      this.wake()
      return
    }
    this.#cancelTimer = env.clock.schedule(nextInMs, () => this.wake())
  }

  /** Without a free slot, only child calls are claimed: their parents hold the slots that they would need. */
  #claimFor(free: number): Claim {
    const { registry, limits, leaseMs } = this.#parts
    const operations = registry.keys
    if (free <= 0) return { operations, leaseMs, limit: CHILD_BATCH, onlyChildren: true }
    if (registry.operations !== this.#boundedOf) {
      this.#boundedOf = registry.operations
      this.#bounded = registry.operations.filter(isBounded)
    }
    const slots = this.#bounded.length > 0 && { slots: limits.slotsOf(this.#bounded) }
    const { shares } = limits
    const { weights } = limits.rules
    return { operations, leaseMs, limit: free, ...slots, ...(shares && { shares }), ...(weights && { weights }) }
  }
}

function isBounded({ concurrency }: Operation): boolean {
  return concurrency !== undefined
}
