/** The goals of the sync suite. A goal is met if the whole interval meets it. A skipped contender has no goals. */
import type { Costs } from '../fresh-processes.ts'
import { type Interval, ratioOfCosts } from '../statistics.ts'
import type { Goal } from './suite.ts'
import { FRAMEWORKS, SDKS } from './sync-subjects.ts'

const OF_LIMIT = 0.85
const OF_LIMIT_GUARDED = 0.7
const OF_LIMIT_MCP = 0.8
const ENVELOPE = 'bare node:http with the same envelope'

export function syncGoals(costs: Costs): Goal[] {
  const compare = (ours: string, theirs: string): Interval | undefined => {
    const [own, other] = [costs.get(ours), costs.get(theirs)]
    return own && other && ratioOfCosts(own, other)
  }
  return [
    ...atLeast('OpenCALL call', compare('callplane', 'node:http'), OF_LIMIT, ENVELOPE),
    ...atLeast('OXP call', compare('callplane oxp', 'node:http oxp'), OF_LIMIT, ENVELOPE),
    ...atLeast('REST call', compare('callplane rest', 'node:http rest'), OF_LIMIT, ENVELOPE),
    ...atLeast(
      'OpenCALL call with a verified token and a request log',
      compare('callplane auth+log', 'node:http'),
      OF_LIMIT_GUARDED,
      'bare node:http, which has neither',
    ),
    ...atLeast('MCP tools/call', compare('callplane mcp', 'node:http mcp'), OF_LIMIT_MCP, ENVELOPE),
    ...FRAMEWORKS.flatMap((theirs) => aheadOf('OpenCALL call', theirs, compare('callplane', theirs))),
    ...SDKS.flatMap((theirs) => aheadOf('MCP tools/call', theirs, compare('callplane mcp', theirs))),
  ]
}

function atLeast(name: string, reached: Interval | undefined, least: number, whose: string): Goal[] {
  if (!reached) return []
  const goal = `at least ${least.toFixed(2)} of the calls per CPU second of ${whose}`
  return [{ suite: 'sync', name, goal, measured: told(reached), reached, met: reached.low >= least }]
}

function aheadOf(name: string, theirs: string, reached: Interval | undefined): Goal[] {
  if (!reached) return []
  const goal = `more calls per CPU second than ${theirs}`
  return [
    { suite: 'sync', name: `${name} beside ${theirs}`, goal, measured: told(reached), reached, met: reached.low > 1 },
  ]
}

function told({ value, low, high }: Interval): string {
  return `${value.toFixed(2)} (95 % interval ${low.toFixed(2)} to ${high.toFixed(2)})`
}
