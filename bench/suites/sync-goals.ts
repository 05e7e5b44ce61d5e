/** What the sync suite wants, read from the samples of one run. A contender that was left out has no goals. */
import { ratios, type Sample } from '../rounds.ts'
import { type Summary, summarise } from '../statistics.ts'
import type { Goal } from './suite.ts'
import { FRAMEWORKS, SDKS } from './sync-subjects.ts'

const OF_LIMIT = 0.9
const OF_LIMIT_GUARDED = 0.75
const MCP_COST = 1.6
const OVER_SDK = 6
/** What a protocol may cost more than OpenCALL. */
const PROTOCOL_COST = 1.1

export type SamplesOf = (name: string) => readonly Sample[] | undefined

export function syncGoals(samplesOf: SamplesOf): Goal[] {
  /** Calls per CPU second of one over the other, where both were measured. */
  const compare = (ours: string, theirs: string): Summary | undefined => {
    const [own, other] = [samplesOf(ours), samplesOf(theirs)]
    return own && other && summarise(ratios(own, other))
  }
  return [
    ...atLeast('sync call', compare('callplane', 'node:http'), OF_LIMIT, 'bare node:http'),
    ...atLeast('OXP call', compare('callplane oxp', 'node:http oxp'), OF_LIMIT, 'bare node:http with its envelope'),
    ...atLeast('REST call', compare('callplane rest', 'node:http rest'), OF_LIMIT, 'bare node:http with its envelope'),
    ...atLeast(
      'sync call with a verified token and a request log',
      compare('callplane auth+log', 'node:http'),
      OF_LIMIT_GUARDED,
      'bare node:http without either',
    ),
    ...aheadOf(FRAMEWORKS, (theirs) => compare('callplane', theirs)),
    ...atMost(
      'MCP tools/call',
      compare('node:http mcp', 'callplane mcp'),
      MCP_COST,
      'bare node:http with its envelope',
    ),
    ...SDKS.flatMap((sdk) => atLeast(`MCP against ${sdk}`, compare('callplane mcp', sdk), OVER_SDK, sdk)),
    ...['oxp', 'rest'].flatMap((name) =>
      atMost(`${name} beside OpenCALL`, compare('callplane', `callplane ${name}`), PROTOCOL_COST, 'POST /call'),
    ),
  ]
}

function atLeast(name: string, reached: Summary | undefined, least: number, whose: string): Goal[] {
  if (!reached) return []
  const goal = `at least ${least.toFixed(2)} of the calls per CPU second of ${whose}`
  return [{ suite: 'sync', name, goal, measured: told(reached), met: reached.median >= least }]
}

function atMost(name: string, cost: Summary | undefined, most: number, whose: string): Goal[] {
  if (!cost) return []
  const goal = `at most ${most.toFixed(2)} of the CPU per call of ${whose}`
  return [{ suite: 'sync', name, goal, measured: told(cost), met: cost.median <= most }]
}

function aheadOf(names: readonly string[], compare: (theirs: string) => Summary | undefined): Goal[] {
  const measured = names.flatMap((name) => {
    const reached = compare(name)
    return reached ? [{ name, reached }] : []
  })
  if (measured.length === 0) return []
  return [
    {
      suite: 'sync',
      name: 'ahead of every framework',
      goal: 'more calls per CPU second than each of them',
      measured: measured.map(({ name, reached }) => `${reached.median.toFixed(2)} × ${name}`).join(', '),
      met: measured.every(({ reached }) => reached.median > 1),
    },
  ]
}

function told({ median, low, high }: Summary): string {
  return `${median.toFixed(2)} (middle half ${low.toFixed(2)}–${high.toFixed(2)})`
}
