/** Quantiles of a histogram. */

/** The calls of one operation that have ended. */
export interface Counted {
  calls: number
  errors: number
  /** How many calls took no longer than each bound, and longer than the one before. The last one is above all bounds. */
  buckets: readonly number[]
  boundsMs: readonly number[]
}

/** The bound below which this share of the calls ended. Within a bucket, calls are taken to be spread evenly. */
export function quantileMs({ buckets, boundsMs }: Pick<Counted, 'buckets' | 'boundsMs'>, share: number): number {
  const wanted = share * buckets.reduce((sum, calls) => sum + calls, 0)
  let below = 0
  for (const [at, calls] of buckets.entries()) {
    if (calls > 0 && below + calls >= wanted) {
      const from = boundsMs[at - 1] ?? 0
      const to = boundsMs[at] ?? from
      return from + (to - from) * ((wanted - below) / calls)
    }
    below += calls
  }
  return 0
}
