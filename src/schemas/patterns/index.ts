/** Which engine runs a pattern of a JSON Schema, so that no text makes it hang. */
import { growthOf } from './ambiguity.ts'
import { createLinearMatcher, type Matcher } from './linear.ts'
import { Unreadable } from './syntax.ts'

export { growthOf } from './ambiguity.ts'

/** JavaScript's own where its time grows with the text; else one whose time always does, unless the pattern is beyond it. */
export function createMatcher(source: string): RegExp | Matcher {
  const native = new RegExp(source, 'u')
  return growthOf(source) === 'linear' ? native : (linearMatcher(source) ?? native)
}

/** Whether `createMatcher` makes one whose time grows with the text. */
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
