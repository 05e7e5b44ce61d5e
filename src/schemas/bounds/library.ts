/**
 * Decides how a library's schema is guarded. A library reports every problem of a value and cannot be stopped, so large
 * values are checked under a guard. The JSON Schema that it exports shows whether small values can be expensive too.
 */
import type { PlainSchema } from '../../core/operation/schema.ts'
import { growthOf } from '../patterns/index.ts'
import { costOf } from './cost.ts'

/**
 * The values that are checked under the guard. `parts`: values with many parts. `parts and text`: also values with much
 * text, because patterns take more than linear time or their flags are unknown. `all`: all values.
 */
export type Care = 'parts' | 'parts and text' | 'all'

export interface LibraryCost {
  readonly care: Care
  /** The reason why all values need the guard, for the log. */
  readonly reason?: string
}

/** `exported` is `undefined` if the library could not export the schema. */
export function libraryCost(exported: PlainSchema | undefined): LibraryCost {
  if (!exported) return { care: 'all', reason: 'the library exports no JSON Schema that shows its patterns' }
  const { recursiveChoice, patterns } = costOf(exported)
  if (recursiveChoice) return { care: 'all', reason: 'it contains itself within alternatives' }
  const unsafe = [...patterns].find((pattern) => growthOf(pattern, { anyFlags: true }) === 'unsafe')
  if (unsafe !== undefined) return { care: 'all', reason: `the pattern ${unsafe} has no time bound` }
  return { care: patterns.size > 0 ? 'parts and text' : 'parts' }
}
