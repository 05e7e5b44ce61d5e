/** The goals for durable work in process, and whether they were met. */

import { summarise } from '../statistics.ts'
import { type JobSamples, paired, pairedRates } from './durable-in-process.ts'
import { LIMIT, OURS } from './durable-systems.ts'
import type { Goal } from './suite.ts'

const OF_LIMIT = 0.5
const OF_OTHERS = 2.5

export function inProcessGoals(samples: JobSamples): Goal[] {
  const rates = pairedRates(samples, OURS, LIMIT)
  const { median, low, high } = summarise(rates)
  const cpu = summarise(paired(samples, OURS, LIMIT, (ours, limit) => limit.cpuUs / ours.cpuUs)).median
  return [
    {
      suite: 'durable',
      name: 'durable jobs in process beside SQLite by hand',
      goal: `at least ${OF_LIMIT} of its jobs a second`,
      measured: `${median.toFixed(2)} (middle half ${low.toFixed(2)}–${high.toFixed(2)} of ${rates.length} rounds), ${cpu.toFixed(2)} of its jobs per CPU second`,
      met: median >= OF_LIMIT,
    },
    ...besideOthers(samples),
  ]
}

/** Compares with the closest of the other systems. */
function besideOthers(samples: JobSamples): Goal[] {
  const others = [...samples.keys()].filter((name) => name !== LIMIT && name !== OURS)
  const [best] = others
    .map((name) => ({ name, ratios: pairedRates(samples, OURS, name) }))
    .filter(({ ratios }) => ratios.length > 0)
    .map(({ name, ratios }) => ({ name, rounds: ratios.length, ratio: summarise(ratios).median }))
    .sort((a, b) => a.ratio - b.ratio)
  if (!best) return []
  const cpu = summarise(paired(samples, OURS, best.name, (ours, theirs) => theirs.cpuUs / ours.cpuUs)).median
  return [
    {
      suite: 'durable',
      name: 'durable jobs in process beside other systems',
      goal: `at least ${OF_OTHERS} times the jobs a second of the best of them`,
      measured: `${best.ratio.toFixed(2)} times ${best.name} (${best.rounds} rounds), ${cpu.toFixed(2)} times its jobs per CPU second of the client`,
      met: best.ratio >= OF_OTHERS,
    },
  ]
}
