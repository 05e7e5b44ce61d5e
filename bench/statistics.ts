/** Medians and quartiles, because a benchmark on a shared machine has outliers that say nothing about the code. */

export function quantile(sorted: readonly number[], q: number): number {
  if (sorted.length === 0) return Number.NaN
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)] as number
  const high = sorted[Math.ceil(at)] as number
  return low + (high - low) * (at - Math.floor(at))
}

export interface Summary {
  median: number
  /** The middle half of the values lies between these two. */
  low: number
  high: number
}

export function summarise(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) }
}

/** The ratios as a row stores them: the median and the spread. */
export function relativeOf(ratios: readonly number[]): { relative: number; spread: { low: number; high: number } } {
  const { median, low, high } = summarise(ratios)
  return { relative: median, spread: { low, high } }
}

/** Estimates the CPU time of a call on an idle machine: noise can only add time. */
export function fastestTenth(windows: readonly number[]): number {
  const sorted = [...windows].sort((a, b) => a - b)
  return mean(sorted.slice(0, Math.max(1, Math.round(sorted.length / 10))))
}

export interface Interval {
  value: number
  /** 95 % of the resampled values lie between these two. */
  low: number
  high: number
}

const RESAMPLES = 2_000

/**
 * Ratio of the CPU time per call of the second to that of the first, with one figure per process. It equals the calls
 * per CPU second of the first over those of the second. A process keeps its own pace (its memory layout, the compiler's
 * guesses), so the processes are resampled, in the pairs that ran side by side: the first ones of both lists, if one
 * list is longer.
 */
export function ratioOfCosts(first: readonly number[], second: readonly number[]): Interval {
  const random = createRandom(1)
  const together = Math.min(first.length, second.length)
  const pick = () => Math.floor(random() * together)
  const ratioOf = (pairs: readonly number[]) =>
    mean(pairs.map((at) => second[at] as number)) / mean(pairs.map((at) => first[at] as number))
  const all = Array.from({ length: together }, (_, at) => at)
  const resampled = Array.from({ length: RESAMPLES }, () => ratioOf(all.map(pick))).sort((a, b) => a - b)
  return { value: ratioOf(all), low: quantile(resampled, 0.025), high: quantile(resampled, 0.975) }
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Shuffles with `random` (Fisher–Yates). */
export function shuffle<T>(values: readonly T[], random: () => number): T[] {
  const shuffled = [...values]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const at = Math.floor(random() * (last + 1))
    const taken = shuffled[at] as T
    shuffled[at] = shuffled[last] as T
    shuffled[last] = taken
  }
  return shuffled
}

/** The same seed gives the same numbers, so the same figures give the same interval (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
