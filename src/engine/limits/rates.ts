/** Limits how often a caller calls, and how often it polls one call. */

import { type BucketRules, Buckets } from '../../core/fairness/buckets.ts'
import { Fault } from '../../core/fault.ts'
import type { SharedLimits } from '../../core/ports/peers.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { LimitRules } from './limit-rules.ts'

type RateRules = Pick<LimitRules, 'callsPerSecond' | 'callBurst' | 'pollBurst' | 'pollIntervalMs'>

export class Rates {
  readonly #calls: (key: string) => number | Promise<number>
  readonly #polls: (key: string) => number | Promise<number>

  constructor(rules: RateRules, clock: Clock, shared: SharedLimits | undefined) {
    const { callsPerSecond, callBurst, pollBurst, pollIntervalMs } = rules
    const take = (bucket: BucketRules) => {
      if (shared) return (key: string) => shared.takeToken(bucket, key)
      const buckets = new Buckets(bucket, clock)
      return (key: string) => buckets.take(key)
    }
    this.#calls = callsPerSecond > 0 ? take({ capacity: callBurst, msPerToken: 1000 / callsPerSecond }) : () => 0
    this.#polls = take({ capacity: pollBurst, msPerToken: pollIntervalMs })
  }

  /** Returns a promise only if processes count together. */
  countCall(owner: string): void | Promise<void> {
    return unlessTooSoon(this.#calls(owner), 'Too many calls in a short time')
  }

  countPoll(owner: string, requestId: string): void | Promise<void> {
    return unlessTooSoon(this.#polls(`${owner}|${requestId}`), 'You poll this call too often')
  }
}

function unlessTooSoon(waiting: number | Promise<number>, what: string): void | Promise<void> {
  if (typeof waiting !== 'number') return waiting.then((waitMs) => unlessTooSoon(waitMs, what))
  if (waiting > 0) throw slowDown(what, waiting)
}

function slowDown(what: string, waitMs: number): Fault {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs))
  return new Fault('rate-limited', `${what}. Wait ${retryAfterMs} ms before the next one.`, { retryAfterMs })
}
