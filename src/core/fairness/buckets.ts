/** Token buckets by key. Full buckets are dropped first, so the map holds only busy keys. */
import type { Clock } from '../ports/runtime.ts'

export interface BucketRules {
  /** Capacity of a bucket in tokens. */
  capacity: number
  msPerToken: number
}

const MAX_KEYS = 100_000
/** Tolerance for floating-point sums. Without it a rate of 625 calls a second refused the first call. */
const ROUNDING_MS = 0.5

export class Buckets {
  readonly #rules: BucketRules
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** The time at which each bucket is full again. */
  readonly #fullAt = new Map<string, number>()

  constructor(rules: BucketRules, clock: Pick<Clock, 'monotonicMs'>) {
    this.#rules = rules
    this.#clock = clock
  }

  /** Takes one token. Returns 0, or the milliseconds to wait for one. */
  take(key: string): number {
    const { capacity, msPerToken } = this.#rules
    const now = this.#clock.monotonicMs()
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + msPerToken
    const waitMs = fullAt - now - capacity * msPerToken
    if (waitMs > ROUNDING_MS) return waitMs
    this.#fullAt.delete(key)
    this.#fullAt.set(key, fullAt)
    if (this.#fullAt.size > MAX_KEYS) this.#forget(now)
    return 0
  }

  /** The milliseconds to wait for a token, or 0. Takes none. */
  waitMs(key: string): number {
    const { capacity, msPerToken } = this.#rules
    const now = this.#clock.monotonicMs()
    const waitMs = Math.max(now, this.#fullAt.get(key) ?? now) + msPerToken - now - capacity * msPerToken
    return waitMs > ROUNDING_MS ? waitMs : 0
  }

  #forget(now: number): void {
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt <= now || this.#fullAt.size > MAX_KEYS) this.#fullAt.delete(key)
      else break
    }
  }
}
