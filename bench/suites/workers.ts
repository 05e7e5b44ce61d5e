/**
 * The cost of more processes: calls per CPU second of `callplane serve --workers 2`, all processes together, over those
 * of `--workers 1`, and over those of a single-process server, which sends nothing between processes. "One" can mean
 * either, so both are goals. A bare server in one process and in two, in the same rounds, shows how much of the cost is
 * due to the machine.
 */
import { join } from 'node:path'
import type { Repeated } from '../contenders/repeat.ts'
import { type Host, startHost, startLoad } from '../processes.ts'
import { ratios, runRounds, type Sample } from '../rounds.ts'
import { startBare, startServed } from '../served.ts'
import { summarise } from '../statistics.ts'
import { added, medianUs, runWork } from '../work-rounds.ts'
import type { Findings, Goal, Row, Suite } from './suite.ts'

const GOAL = 0.9
const CALLERS = 64
const SERVERS = [
  { name: 'one process', workers: undefined },
  { name: '1 worker', workers: 1 },
  { name: '2 workers', workers: 2 },
] as const
/** The cost of two busy processes that share nothing on this machine. The bare server handles sync calls only. */
const CONTROLS = [
  { name: 'node:http, one process', processes: undefined },
  { name: 'node:http, 2 processes', processes: 2 },
] as const

type Samples = [alone: Sample[], one: Sample[], two: Sample[], bareAlone?: Sample[], bareTwo?: Sample[]]

export const workers: Suite = async ({ quick, folder, say }) => {
  const load = startLoad()
  const hosts: Host[] = []
  const findings: Findings = { rows: [], goals: [] }
  try {
    for (const { name, workers } of SERVERS) {
      hosts.push(await startServed(name, workers, join(folder, name.replace(' ', '-'))))
    }
    for (const { name, processes } of CONTROLS) hosts.push(await startBare(name, processes))
    for (const traffic of ['sync', 'async'] as const) {
      const measured = traffic === 'sync' ? hosts : hosts.slice(0, SERVERS.length)
      const rounds = quick ? 5 : 15
      say(`workers: ${rounds} rounds of ${traffic} calls to ${measured.length} servers, ${CALLERS} callers`)
      const samples = (await runRounds(load, measured, {
        rounds,
        // Three of our processes must be compiled, and each of two workers gets half of the calls.
        warmUpCalls: quick ? 80_000 : 160_000,
        warmUpMs: quick ? 10_000 : 20_000,
        // The system reports hundredths of a second, so one second over several processes is accurate to about 1 %.
        durationMs: quick ? 700 : 1_500,
        connections: CALLERS,
        traffic,
      })) as Samples
      addFindings(findings, traffic, samples)
    }
  } finally {
    await Promise.all([load, ...hosts].map((process) => process.stop()))
  }
  findings.rows.push(...(await measureMessages(quick, folder)))
  return findings
}

/**
 * Recorded calls inside one process, on its own store and on the same store by messages: measures only the cost of
 * sending.
 */
async function measureMessages(quick: boolean, folder: string): Promise<Row[]> {
  const hosts: Host[] = []
  try {
    for (const system of ['callplane', 'callplane by messages'] as const) {
      const data = join(folder, system.replaceAll(' ', '-'))
      hosts.push(await startHost(system, { contender: 'durable', durable: { system }, data }))
    }
    const rounds = quick ? 9 : 25
    const jobs = { rounds, warmUpCalls: 80_000, calls: 3_000, concurrency: CALLERS }
    const samples = await runWork(hosts, jobs)
    const [own, sent] = samples as [Repeated[], Repeated[]]
    const limit = 'callplane, in process'
    return [
      { suite: 'workers', contender: limit, cpuUs: medianUs(own), limit },
      {
        suite: 'workers',
        contender: `${limit}, by messages`,
        cpuUs: medianUs(sent),
        limit,
        figures: { 'CPU µs for messages': added(sent, own).median },
      },
    ]
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
  }
}

function addFindings({ rows, goals }: Findings, traffic: string, samples: Samples): void {
  const [alone, one, two, bareAlone, bareTwo] = samples
  const limit = `callplane, ${traffic}, 1 worker`
  for (const [at, { name }] of SERVERS.entries()) {
    const own = samples[at] as Sample[]
    const figures = { 'of one process': summarise(ratios(own, alone)).median }
    rows.push({ ...rowOf(`callplane, ${traffic}, ${name}`, limit, own, one), figures })
  }
  if (bareAlone && bareTwo) {
    const [first, second] = CONTROLS
    rows.push(rowOf(first.name, first.name, bareAlone, bareAlone), rowOf(second.name, first.name, bareTwo, bareAlone))
  }
  goals.push(goalOf(traffic, '1 worker', ratios(two, one)), goalOf(traffic, 'one process', ratios(two, alone)))
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

function rowOf(contender: string, limit: string, own: Sample[], against: Sample[]): Row {
  const relative = summarise(ratios(own, against))
  return {
    suite: 'workers',
    contender,
    cpuUs: summarise(own.map(({ cpuUs }) => cpuUs)).median,
    perSecond: summarise(own.map(({ perSecond }) => perSecond)).median,
    relative: relative.median,
    spread: { low: relative.low, high: relative.high },
    limit,
  }
}
