/**
 * How much care a schema of a library needs. A library names every problem of a value and cannot be asked to stop, so
 * that large values are checked under a guard. What it exports as JSON Schema shows whether small ones can be dear too.
 */
import type { PlainSchema } from '../../core/schema.ts'
import { growthOf } from '../patterns/index.ts'
import { costOf } from './cost.ts'

/**
 * Which values are checked under the guard: those with many parts; those with many parts or much text, where patterns
 * take more than linear time or their flags are unknown; or all of them.
 */
export type Care = 'parts' | 'parts and text' | 'all'

export interface LibraryCost {
  readonly care: Care
  /** Why all values need it, for the log. */
  readonly reason?: string
}

/** `exported` is nothing where the library could not say what the schema is. */
export function libraryCost(exported: PlainSchema | undefined): LibraryCost {
  if (!exported) return { care: 'all', reason: 'the library exports no JSON Schema that shows its patterns' }
  const { recursiveChoice, patterns } = costOf(exported)
  if (recursiveChoice) return { care: 'all', reason: 'it contains itself within alternatives' }
  const unsafe = [...patterns].find((pattern) => growthOf(pattern, { anyFlags: true }) === 'unsafe')
  if (unsafe !== undefined) return { care: 'all', reason: `the pattern ${unsafe} can take any time` }
  return { care: patterns.size > 0 ? 'parts and text' : 'parts' }
}
