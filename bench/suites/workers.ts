/**
 * What more processes cost: calls per CPU second of `callplane serve --workers 2`, all its processes together, over those
 * of `--workers 1`, and over those of a server of one process, where nothing has to be sent between processes. "One" can
 * mean either, so both are goals.
 */
import { join } from 'node:path'
import { type Host, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { startServed } from '../served.ts'
import { summarise } from '../statistics.ts'
import type { Findings, Goal, Row, Suite } from './suite.ts'

const GOAL = 0.9
const CALLERS = 64
const TRAFFIC = ['sync', 'async'] as const
const SERVERS = [
  { name: 'one process', workers: undefined },
  { name: '1 worker', workers: 1 },
  { name: '2 workers', workers: 2 },
] as const

export const workers: Suite = async ({ quick, folder, say }) => {
  const load = startLoad()
  const hosts: Host[] = []
  const findings: Findings = { rows: [], goals: [] }
  try {
    for (const { name, workers } of SERVERS) {
      hosts.push(await startServed(name, workers, join(folder, name.replace(' ', '-'))))
    }
    const rounds = quick ? 5 : 15
    for (const traffic of TRAFFIC) {
      say(`workers: ${rounds} rounds of ${traffic} calls to ${SERVERS.length} servers, ${CALLERS} callers`)
      const samples = (await runRounds(load, hosts, {
        rounds,
        // Each of two workers sees half of them.
        warmUpCalls: (quick ? 20_000 : 60_000) * (traffic === 'sync' ? 3 : 1),
        // The system counts in hundredths of a second: a second of several processes is known to one in a hundred.
        durationMs: quick ? 700 : 1_500,
        connections: CALLERS,
        traffic,
      })) as [Sample[], Sample[], Sample[]]
      const [alone, one, two] = samples
      findings.rows.push(...SERVERS.map(({ name }, at) => rowOf(traffic, name, samples[at] as Sample[], one, alone)))
      findings.goals.push(
        goalOf(traffic, '1 worker', ratios(two, one)),
        goalOf(traffic, 'one process', ratios(two, alone)),
      )
    }
    return findings
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
}

function goalOf(traffic: string, against: string, reached: readonly number[]): Goal {
  const { median, low, high } = summarise(reached)
  return {
    suite: 'workers',
    name: `${traffic} calls with 2 workers, against ${against}`,
    goal: `at least ${GOAL.toFixed(2)} of the calls per CPU second of ${against}`,
    measured: `${median.toFixed(2)} (middle half ${low.toFixed(2)}–${high.toFixed(2)}, ${reached.length} paired rounds)`,
    met: median >= GOAL,
  }
}

function rowOf(traffic: string, name: string, own: Sample[], one: Sample[], alone: Sample[]): Row {
  const relative = summarise(ratios(own, one))
  return {
    suite: 'workers',
    contender: `callplane, ${traffic}, ${name}`,
    cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
    perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
    relative: relative.median,
    spread: { low: relative.low, high: relative.high },
    limit: `callplane, ${traffic}, 1 worker`,
    figures: { 'of one process': summarise(ratios(own, alone)).median },
  }
}
