/** Repeatable random numbers: the same seed gives the same sequence (mulberry32). */
export interface Random {
  /** Returns an integer from 0 up to, but not including, this bound. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  chance(share: number): boolean
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { below, pick: (from) => from[below(from.length)] as (typeof from)[number], chance: (share) => next() < share }
}
