/** The numbered requirements that the checks cite, and their levels. */
import type { Level } from '../case.ts'
import opencall from './opencall.json' with { type: 'json' }
import oxp from './oxp.json' with { type: 'json' }
import rest from './rest.json' with { type: 'json' }

export interface Requirement {
  /** Specification and number, `opencall:091`. */
  id: string
  /** The level in the text. REQUIRED: the prose says so. IMPLIED: it follows from a field, a table or prose. */
  level: string
  /** Heading in the specification. */
  section: string
  text: string
}

const requirements: ReadonlyMap<string, Requirement> = new Map(
  [opencall, oxp, rest].flatMap((specification) => specification.requirements.map((each) => [each.id, each])),
)

export function requirementOf(id: string): Requirement {
  const found = requirements.get(id)
  if (!found) throw new Error(`There is no requirement ${id}.`)
  return found
}

const ORDER: readonly Level[] = ['must', 'should', 'may']

export function strongest(levels: readonly Level[]): Level {
  return ORDER.find((level) => levels.includes(level)) ?? 'should'
}

/**
 * The level of a case that cites these requirements. IMPLIED counts as must, because clients rely on fields and tables.
 */
export function levelOf(ids: readonly string[]): Level {
  return strongest(ids.map((id) => LEVELS[requirementOf(id).level.toUpperCase()] ?? 'must'))
}

const LEVELS: Readonly<Record<string, Level>> = { SHOULD: 'should', 'SHOULD NOT': 'should', MAY: 'may' }
