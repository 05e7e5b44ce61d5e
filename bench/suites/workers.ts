/** What more processes cost: calls per CPU second of `callplane serve --workers 2`, all its processes together, over those of one. */
import { join } from 'node:path'
import type { Host } from '../processes.ts'
import { startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { startServed } from '../served.ts'
import { summarise } from '../statistics.ts'
import type { Findings, Suite } from './suite.ts'

const GOAL = 0.9
const CALLERS = 64
const TRAFFIC = ['sync', 'async'] as const

export const workers: Suite = async ({ quick, folder, say }) => {
  const load = startLoad()
  const hosts: Host[] = []
  const findings: Findings = { rows: [], goals: [] }
  try {
    for (const count of [1, 2]) {
      hosts.push(await startServed(`${count} worker${count > 1 ? 's' : ''}`, count, join(folder, `workers-${count}`)))
    }
    const rounds = quick ? 5 : 15
    for (const traffic of TRAFFIC) {
      say(`workers: ${rounds} rounds of ${traffic} calls to 1 process and to 2 and their store, ${CALLERS} callers`)
      const [one, two] = (await runRounds(load, hosts, {
        rounds,
        warmUpCalls: quick ? 10_000 : 30_000,
        // The system counts in hundredths of a second: a second of several processes is known to one in a hundred.
        durationMs: quick ? 700 : 1_500,
        connections: CALLERS,
        traffic,
      })) as [Sample[], Sample[]]
      const reached = summarise(ratios(two, one))
      for (const [name, samples] of [
        ['1 process', one],
        ['2 workers', two],
      ] as const) {
        const relative = summarise(ratios(samples, one))
        findings.rows.push({
          suite: 'workers',
          contender: `callplane, ${traffic}, ${name}`,
          cpuUs: summarise(samples.map(({ cpuUs }) => cpuUs)).median,
          perSecond: summarise(samples.map(({ perSecond }) => perSecond)).median,
          relative: relative.median,
          spread: { low: relative.low, high: relative.high },
          limit: `callplane, ${traffic}, 1 process`,
        })
      }
      findings.goals.push({
        suite: 'workers',
        name: `${traffic} calls with 2 workers`,
        goal: `at least ${GOAL.toFixed(2)} of the calls per CPU second of one process`,
        measured: `${reached.median.toFixed(2)} (middle half ${reached.low.toFixed(2)}–${reached.high.toFixed(2)}, ${rounds} paired rounds)`,
        met: reached.median >= GOAL,
      })
    }
    return findings
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}
