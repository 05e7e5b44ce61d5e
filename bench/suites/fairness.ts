/**
 * Latency of an honest caller's calls beside a flooding caller: p99 with the flood over p99 alone, each counted from
 * the time a call was due. The flood's calls wait and compute nothing, so the server has spare CPU time. The latency
 * grows only as far as the server's scheduling allows.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Flood, HONEST_TOKEN } from '../contenders/fairness.ts'
import { startPacedLoad } from '../paced.ts'
import type { Paced } from '../paced-load.ts'
import { type Host, startHost } from '../processes.ts'
import { summarise } from '../statistics.ts'
import type { Findings, Goal, Row, Suite } from './suite.ts'

const GOAL = 3
const CPU_GOAL = 0.7
const PER_SECOND = 200

/** More calls than there are slots, and a queue that lasts until the last call is measured. */
const FLOODS: readonly Flood[] = [
  { model: 'sync', calls: 272 },
  { model: 'async', calls: 50_000 },
]
const HONEST = [
  { kind: 'sync', operation: 'v1:Calculator.Add' },
  { kind: 'async', operation: 'v1:Calculator.AddLater' },
] as const

interface Window extends Paced {
  /** Share of one core. */
  cpu: number
}

export const fairness: Suite = async ({ quick, trial, folder, say }) => {
  const findings: Findings = { rows: [], goals: [] }
  const rounds = trial ? 1 : quick ? 3 : 5
  const windowMs = trial ? 2_500 : quick ? 5_000 : 8_000
  for (const flood of FLOODS) {
    const host = await startHost('callplane', { contender: 'fairness', data: join(folder, `fairness-${flood.model}`) })
    try {
      say(`fairness: ${rounds} rounds of an honest caller alone, then beside ${flood.calls} ${flood.model} calls`)
      const alone = await measure(host, rounds, windowMs)
      const flooding = host.ask('work', flood)
      if (flood.model === 'async') await flooding
      const beside = await measure(host, rounds, windowMs)
      for (const [at, { kind }] of HONEST.entries()) {
        add(findings, `${kind} calls beside a flood of ${flood.model} calls`, alone[at] ?? [], beside[at] ?? [])
      }
    } finally {
      await host.stop()
    }
  }
  return findings
}

/** Alternates both kinds of honest calls, so that other load on the machine affects both. */
async function measure(host: Host, rounds: number, windowMs: number): Promise<Window[][]> {
  const windows: Window[][] = HONEST.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, { operation }] of HONEST.entries()) {
      const load = startPacedLoad()
      try {
        const headers = { Authorization: `Bearer ${HONEST_TOKEN}` }
        const [cpuBefore, from] = [await host.cpuUs(), performance.now()]
        await load.start({ port: host.port, operation, perSecond: PER_SECOND, headers })
        await pause(windowMs)
        const paced = await load.finish()
        const cpu = ((await host.cpuUs()) - cpuBefore) / 1_000 / (performance.now() - from)
        windows[at]?.push({ ...paced, cpu })
      } finally {
        await load.stop()
      }
    }
  }
  return windows
}

function add({ rows, goals }: Findings, contender: string, alone: readonly Window[], beside: readonly Window[]): void {
  const median = (windows: readonly Window[], of: (window: Window) => number) => summarise(windows.map(of)).median
  const [before, after] = [median(alone, ({ p99Ms }) => p99Ms), median(beside, ({ p99Ms }) => p99Ms)]
  const cpu = median(beside, (window) => window.cpu)
  const row: Row = {
    suite: 'fairness',
    contender,
    figures: {
      'p99 of alone': after / before,
      'p99 ms': after,
      'p99 ms alone': before,
      'p50 ms': median(beside, ({ p50Ms }) => p50Ms),
      'p50 ms alone': median(alone, ({ p50Ms }) => p50Ms),
      'of one core': cpu,
    },
  }
  const goal: Goal = {
    suite: 'fairness',
    name: contender,
    goal: `p99 at most ${GOAL} times that alone, with the server below ${CPU_GOAL * 100} % of a core`,
    measured: `${(after / before).toFixed(2)} (${after.toFixed(1)} ms, alone ${before.toFixed(1)} ms), ${(cpu * 100).toFixed(0)} % of a core`,
    met: after / before <= GOAL && cpu < CPU_GOAL,
  }
  rows.push(row)
  goals.push(goal)
}
