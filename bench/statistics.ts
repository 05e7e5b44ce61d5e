/** Medians and quartiles: a benchmark on a shared machine has outliers, and they say nothing about the code. */

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

/** Ratios as a row tells them: the middle one, and how far they scatter. */
export function relativeOf(ratios: readonly number[]): { relative: number; spread: { low: number; high: number } } {
  const { median, low, high } = summarise(ratios)
  return { relative: median, spread: { low, high } }
}
