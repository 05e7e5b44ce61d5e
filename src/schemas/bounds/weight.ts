/** The size of a value, in the unit of the budgets of checks. */

/** One for each value and each key, and one for each 64 characters. Stops counting at `stopAt`. */
export function weightOf(value: unknown, stopAt = Number.POSITIVE_INFINITY): number {
  return weigh(value, stopAt, 6, 0)
}

/** True if a value has more parts than the limit. With `charsCount`, four characters of text count as one part. */
export function isLargerThan(value: unknown, limit: number, charsCount: boolean): boolean {
  return weigh(value, limit, charsCount ? 2 : 31, 0) > limit
}

/** A handler's result may contain itself. Another check refuses deeper values. */
const MAX_DEPTH = 600

function weigh(value: unknown, stopAt: number, charsShift: number, depth: number): number {
  if (typeof value === 'string') return 1 + (value.length >> charsShift)
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return 1
  let sum = 1
  if (Array.isArray(value)) {
    // A hole in a list costs as much as a value.
    for (let at = 0; at < value.length && sum <= stopAt; at++) {
      sum += weigh(value[at], stopAt - sum, charsShift, depth + 1)
    }
    return sum
  }
  for (const key in value) {
    sum += 1 + (key.length >> charsShift) + weigh((value as never)[key], stopAt - sum, charsShift, depth + 1)
    if (sum > stopAt) break
  }
  return sum
}
