/** Chooses the engine that runs a pattern of a JSON Schema, so that no text makes it hang. */
import { growthOf } from './ambiguity.ts'
import { createLinearMatcher, type Matcher } from './linear.ts'
import { Unreadable } from './syntax.ts'

export { growthOf } from './ambiguity.ts'

/**
 * Returns JavaScript's own engine if its time is linear for this pattern. Otherwise returns the linear engine, unless
 * it does not support the pattern.
 */
export function createMatcher(source: string): RegExp | Matcher {
  const native = new RegExp(source, 'u')
  return growthOf(source) === 'linear' ? native : (linearMatcher(source) ?? native)
}

/** True if `createMatcher` returns a matcher with linear time. */
export function isBounded(source: string): boolean {
  return growthOf(source) === 'linear' || linearMatcher(source) !== undefined
}

function linearMatcher(source: string): Matcher | undefined {
  try {
    return createLinearMatcher(source)
  } catch (thrown) {
    if (thrown instanceof Unreadable) return undefined
    throw thrown
  }
}
