/** Runs stories with a server that ends after each single write, and reports every inconsistency at the end. */
import { expect, test } from 'vitest'
import { type LedgerRules, problemsInLedger } from '../ledger.ts'
import { type Story, type Told, tell } from './world.ts'

export interface PointStory extends Story {
  name: string
  /** The required outcome, no matter when the server ended. */
  outcome: object
  /** How often handlers may have run. */
  runs: readonly [least: number, most: number]
  rules?: LedgerRules
}

/** More writes than any of these stories makes. A story that exceeds it fails. */
const MOST_POINTS = 60

export function testEveryPoint(stories: readonly PointStory[]): void {
  test.each(stories)('$name: whenever the server ends, all agrees', { timeout: 60_000 }, async (story) => {
    const broken: object[] = []
    for (let after = 1, died = true; died; after++) {
      if (after > MOST_POINTS) throw new Error(`${story.name} takes more than ${MOST_POINTS} writes`)
      const told = await tell(story, after)
      died = told.died
      const problems = problemsIn(story, told)
      if (problems.length > 0) broken.push({ endedAfter: `write ${after}, ${told.writes.at(-1)}`, problems })
    }
    expect(broken).toEqual([])
  })
}

function problemsIn({ outcome, runs: [least, most], rules }: PointStory, told: Told): string[] {
  const runs = told.effects.length
  const problems = problemsInLedger(told.ledger, rules)
  if (runs < least || runs > most) problems.push(`handlers ran ${runs} times, not ${least} to ${most}`)
  try {
    expect(told.outcome).toMatchObject(outcome)
  } catch {
    problems.push(`it came to ${JSON.stringify(told.outcome)}`)
  }
  return problems
}
