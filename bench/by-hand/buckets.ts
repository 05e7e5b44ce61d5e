/** Token buckets: one token of one of a thousand callers, all of whom are below their limit. */
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { Buckets } from '../../src/core/fairness/buckets.ts'
import { nothingToClose, type Pair } from './pair.ts'

const CALLERS = Array.from({ length: 1_000 }, (_, at) => `main|tokens|caller-${at}`)
const PER_SECOND = 1_000_000
const callerAt = (at: number) => CALLERS[at % CALLERS.length] as string

export const buckets: Pair = {
  name: 'token buckets',
  operation: 'one token of one of 1,000 callers',
  library: 'rate-limiter-flexible',
  times: 20_000,
  ours() {
    const clock = { monotonicMs: () => Math.floor(performance.now()) }
    const own = new Buckets({ capacity: PER_SECOND, msPerToken: 1_000 / PER_SECOND }, clock)
    return {
      ...nothingToClose,
      run(times) {
        for (let at = 0; at < times; at++) if (own.take(callerAt(at)) !== 0) throw new Error('A token was refused.')
      },
    }
  },
  theirs() {
    const limiter = new RateLimiterMemory({ points: PER_SECOND, duration: 1 })
    return {
      ...nothingToClose,
      async run(times) {
        // The library rejects when it refuses a token.
        for (let at = 0; at < times; at++) await limiter.consume(callerAt(at))
      },
    }
  },
}
