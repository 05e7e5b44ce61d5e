/** A million calls expire while 1,000 a second come in: the latencies until the last of them is removed. */
import type { PacedJobs, PacedRun } from '../contenders/durable-jobs.ts'
import type { Host } from '../processes.ts'
import { quantile } from '../statistics.ts'
import { hasFilled, multiplyCalls } from './postgres-fill.ts'
import { GOALS } from './postgres-goals.ts'
import { startNode, startServer } from './postgres-systems.ts'
import type { Findings, Row, Settings } from './suite.ts'

const SUITE = 'postgres expiry'
const PACE = 1_000
const WINDOW_MS = 3_000
const GIVE_UP_MS = 600_000

export async function expiry(settings: Settings): Promise<Findings> {
  const { quick, trial, folder, say } = settings
  const calls = trial ? 1_000 : quick ? 100_000 : 1_000_000
  const windows = trial ? 1 : quick ? 3 : 7
  const count = calls.toLocaleString('en')
  const server = await startServer(settings)
  if (!server) return { rows: [], goals: [] }
  const host = await startNode(server, folder, { name: 'callplane' })
  try {
    say(`postgres: ${count} calls expire while ${PACE} a second come in`)
    await paced(host)
    const before: number[] = []
    for (let window = 0; window < windows; window++) before.push(...(await paced(host)))
    const url = server.url('callplane')
    const below = await multiplyCalls({ url, calls, keptForMs: 0 })
    const startedAt = performance.now()
    const during: number[] = []
    do {
      if (performance.now() - startedAt > GIVE_UP_MS) throw new Error(`${count} calls were not removed in time.`)
      during.push(...(await paced(host)))
    } while (await hasFilled(url, below))
    const seconds = (performance.now() - startedAt) / 1000
    const [own, without] = [at(during, 0.99), at(before, 0.99)]
    return {
      rows: [
        rowOf('callplane at 1000/s', server.build, before),
        rowOf(`callplane at 1000/s, ${count} calls expire`, server.build, during, { 's until removed': seconds }),
      ],
      goals: [
        {
          suite: SUITE,
          name: `p99 at ${PACE}/s while ${count} calls expire`,
          goal: `below ${GOALS.expiryP99} × the p99 without`,
          measured: `${(own / without).toFixed(2)} (${own.toFixed(1)} ms against ${without.toFixed(1)}), all removed within ${seconds.toFixed(0)} s`,
          met: own / without < GOALS.expiryP99,
        },
      ],
    }
  } finally {
    await host.stop()
    await server.stop()
  }
}

async function paced(host: Host): Promise<number[]> {
  const run: PacedRun = { perSecond: PACE, durationMs: WINDOW_MS }
  return (await host.ask<PacedJobs>('work', run)).latenciesMs
}

function at(values: readonly number[], q: number): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    q,
  )
}

function rowOf(contender: string, engine: string, latencies: readonly number[], more: Row['figures'] = {}): Row {
  const figures = { 'p50 ms': at(latencies, 0.5), 'p99 ms': at(latencies, 0.99), 'longest ms': at(latencies, 1) }
  return { suite: SUITE, contender, engine, figures: { ...figures, ...more } }
}
