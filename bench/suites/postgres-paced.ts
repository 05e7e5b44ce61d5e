/** Latency at 1,000 calls per second, in process: from the moment a call is due until its result is stored. */
import type { PacedJobs, PacedRun } from '../contenders/durable-jobs.ts'
import { type Host, startHost } from '../processes.ts'
import { summarise } from '../statistics.ts'
import { GOALS, ratioGoal } from './postgres-goals.ts'
import { LIMIT, OURS, startNode, startServer } from './postgres-systems.ts'
import type { Findings, Row, Settings } from './suite.ts'

const SUITE = 'postgres paced'
const PACE = 1_000

interface Paced extends PacedJobs {
  engineUs: number
}

export async function paced(settings: Settings): Promise<Findings> {
  const { quick, trial, folder, say } = settings
  const rounds = trial ? 1 : quick ? 3 : 7
  const durationMs = trial ? 500 : quick ? 3_000 : 5_000
  const servers = [await startServer(settings, ['limit']), await startServer(settings)]
  const [own, other] = servers
  const hosts: Host[] = []
  try {
    if (!own || !other) return { rows: [], goals: [] }
    const byHand = { system: 'postgres by hand', enginePort: own.port } as const
    const limit = await startHost(LIMIT, { contender: 'durable', durable: byHand })
    const ours = await startNode(other, folder, { name: OURS })
    hosts.push(limit, ours)
    say(`postgres: ${rounds} rounds at ${PACE} calls a second`)
    const run = async (host: Host, server: typeof own): Promise<Paced> => {
      const before = server.cpuUs()
      const pacedRun: PacedRun = { perSecond: PACE, durationMs }
      const sample = await host.ask<PacedJobs>('work', pacedRun)
      return { ...sample, engineUs: (server.cpuUs() - before) / sample.jobs }
    }
    await run(limit, own)
    await run(ours, other)
    const samples: { limit: Paced[]; ours: Paced[] } = { limit: [], ours: [] }
    for (let round = 0; round < rounds; round++) {
      samples.limit.push(await run(limit, own))
      samples.ours.push(await run(ours, other))
    }
    const ratios = samples.ours.map(({ p99Ms }, round) => p99Ms / (samples.limit[round]?.p99Ms ?? Number.NaN))
    return {
      rows: [rowOf(LIMIT, own.build, samples.limit), rowOf(OURS, other.build, samples.ours)],
      goals: [ratioGoal({ suite: SUITE, name: `p99 at ${PACE}/s`, of: "the limit's", ratios, most: GOALS.pacedP99 })],
    }
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
    await Promise.all(servers.map((server) => server?.stop()))
  }
}

function rowOf(name: string, engine: string, samples: readonly Paced[]): Row {
  const median = (of: (sample: Paced) => number) => summarise(samples.map(of)).median
  return {
    suite: SUITE,
    contender: `${name} at ${PACE}/s`,
    engine,
    figures: {
      'p50 ms': median(({ p50Ms }) => p50Ms),
      'p99 ms': median(({ p99Ms }) => p99Ms),
      'longest ms': Math.max(...samples.map(({ maxMs }) => maxMs)),
      'CPU µs': median(({ cpuUs }) => cpuUs),
      'engine CPU µs': median(({ engineUs }) => engineUs),
    },
  }
}
