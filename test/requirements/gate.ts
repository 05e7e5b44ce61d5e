/** The rule of the gate as a pure function: takes the citations of the tests and returns the problems. */

export interface Citation {
  id: string
  /** Test file, relative to the repository. */
  file: string
  passed: boolean
}

export interface GateInput {
  /** All requirement ids. */
  known: Iterable<string>
  notYetBuilt: Iterable<string>
  citations: readonly Citation[]
}

export interface GateProblem {
  kind: 'unproven' | 'built-but-listed' | 'unknown-id'
  ids: readonly string[]
  /** The next step for the developer. */
  advice: string
}

const ADVICE: Record<GateProblem['kind'], string> = {
  unproven:
    "No passing test cites these requirements: write one that calls verifies('…'), or list them as not yet built.",
  'built-but-listed': 'A passing test cites these requirements: take them off the not-yet-built list.',
  'unknown-id': 'These ids are in no specification: correct the citation or the not-yet-built list.',
}

export function findGateProblems({ known, notYetBuilt, citations }: GateInput): GateProblem[] {
  const all = new Set(known)
  const listed = new Set(notYetBuilt)
  const cited = new Set(citations.map((citation) => citation.id))
  const proven = new Set(citations.filter((citation) => citation.passed).map((citation) => citation.id))

  const found: [GateProblem['kind'], string[]][] = [
    ['unproven', [...all].filter((id) => !proven.has(id) && !listed.has(id))],
    ['built-but-listed', [...listed].filter((id) => proven.has(id))],
    ['unknown-id', [...new Set([...cited, ...listed])].filter((id) => !all.has(id))],
  ]
  return found
    .filter(([, ids]) => ids.length > 0)
    .map(([kind, ids]) => ({ kind, ids: ids.sort(), advice: ADVICE[kind] }))
}
