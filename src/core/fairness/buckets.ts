/** Token buckets by key. Full ones are forgotten first, so the map stays as small as the set of busy keys. */
import type { Clock } from '../ports/runtime.ts'

export interface BucketRules {
  /** How many tokens a bucket holds. */
  capacity: number
  msPerToken: number
}

const MAX_KEYS = 100_000
/** Sums of times and fractions are inexact: without this, 625 calls a second refused the very first one. */
const ROUNDING_MS = 0.5

export class Buckets {
  readonly #rules: BucketRules
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** When each bucket would be full again; one number says it all. */
  readonly #fullAt = new Map<string, number>()

  constructor(rules: BucketRules, clock: Pick<Clock, 'monotonicMs'>) {
    this.#rules = rules
    this.#clock = clock
  }

  /** Takes one token: 0, or how many milliseconds to wait for it. */
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

  #forget(now: number): void {
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt <= now || this.#fullAt.size > MAX_KEYS) this.#fullAt.delete(key)
      else break
    }
  }
}
