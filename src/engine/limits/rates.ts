/** Limits how often a caller calls, and how often it polls one call. */

import { type BucketRules, Buckets } from '../../core/fairness/buckets.ts'
import type { SlotOwner } from '../../core/fairness/slot-shares.ts'
import { Fault } from '../../core/fault.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { LimitRules } from './limit-rules.ts'

type RateRules = Pick<LimitRules, 'callsPerSecond' | 'callBurst' | 'pollBurst' | 'pollIntervalMs'>

export class Rates {
  /** `undefined` if calls have no limit, which is the default. */
  readonly #calls: ((key: string) => number | Promise<number>) | undefined
  readonly #polls: (key: string) => number | Promise<number>
  /** Absent if calls have no limit, or if processes count together. */
  readonly #ownCalls: Buckets | undefined

  constructor(rules: RateRules, clock: Clock, shared: SharedLimits | undefined) {
    const { callsPerSecond, callBurst, pollBurst, pollIntervalMs } = rules
    const take = (bucket: BucketRules, together: SharedLimits | undefined, buckets = new Buckets(bucket, clock)) =>
      together ? (key: string) => together.takeToken(bucket, key) : (key: string) => buckets.take(key)
    const perCall = { capacity: callBurst, msPerToken: 1000 / callsPerSecond }
    this.#ownCalls = callsPerSecond > 0 && !shared ? new Buckets(perCall, clock) : undefined
    this.#calls = callsPerSecond > 0 ? take(perCall, shared, this.#ownCalls) : undefined
    this.#polls = take({ capacity: pollBurst, msPerToken: pollIntervalMs }, shared?.pollsApart ? undefined : shared)
  }

  /** Returns a promise only if processes count together. */
  countCall(tenant: string, owner: string): void | Promise<void> {
    return this.#calls && unlessTooSoon(this.#calls(keyOf(tenant, owner)), 'Too many calls in a short time')
  }

  /** Throws as `countCall` would now, and counts nothing. Processes that count together are not asked. */
  foreseeCall(tenant: string, owner: string): void {
    const waitMs = this.#ownCalls?.waitMs(keyOf(tenant, owner)) ?? 0
    if (waitMs > 0) throw slowDown('Too many calls in a short time', waitMs)
  }

  countPoll({ tenant, owner }: SlotOwner, requestId: string): void | Promise<void> {
    return unlessTooSoon(this.#polls(`${keyOf(tenant, owner)}|${requestId}`), 'You poll this call too often')
  }
}

/** The length keeps the tenant apart from the owner, whatever characters both have. */
function keyOf(tenant: string, owner: string): string {
  return `${tenant.length}|${tenant}|${owner}`
}

function unlessTooSoon(waiting: number | Promise<number>, what: string): void | Promise<void> {
  if (typeof waiting !== 'number') return waiting.then((waitMs) => unlessTooSoon(waitMs, what))
  if (waiting > 0) throw slowDown(what, waiting)
}

function slowDown(what: string, waitMs: number): Fault {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs))
  return new Fault('rate-limited', `${what}. Wait ${retryAfterMs} ms before the next one.`, { retryAfterMs })
}
