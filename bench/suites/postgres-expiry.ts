/**
 * A million calls expire while 1,000 a second come in, until the last of them is removed. The latencies are compared with
 * those of another node, on a server of its own, where nothing expires. Both take turns, because a disk that stalls for
 * 0.1 s now and then would otherwise hit one of them only. The node that does not have its turn is held.
 */
import type { PacedJobs, PacedRun } from '../contenders/durable-jobs.ts'
import type { PostgresServer } from '../engines/debian-postgres.ts'
import type { Host } from '../processes.ts'
import { quantile, summarise } from '../statistics.ts'
import { hasFilled, multiplyCalls } from './postgres-fill.ts'
import { GOALS, ratioGoal } from './postgres-goals.ts'
import { runJobs } from './postgres-samples.ts'
import { startNode, startServer } from './postgres-systems.ts'
import type { Findings, Row, Settings } from './suite.ts'

const SUITE = 'postgres expiry'
const PACE = 1_000
const WINDOW_MS = 3_000
const GIVE_UP_MS = 600_000
/** Calls whose rows are copied. */
const SAMPLES = 64

interface Turn {
  latencies: readonly number[]
  p99: number
}

export async function expiry(settings: Settings): Promise<Findings> {
  const { quick, trial, folder, say } = settings
  const calls = trial ? 1_000 : quick ? 100_000 : 1_000_000
  const count = calls.toLocaleString('en')
  const servers = [await startServer(settings), await startServer(settings)]
  const hosts: Host[] = []
  try {
    const [expiring, other] = servers
    if (!expiring || !other) return { rows: [], goals: [] }
    const below = await fill(expiring, folder, calls)
    const without = await startNode(other, folder, { name: 'without' })
    process.kill(without.pid, 'SIGSTOP')
    const own = await startNode(expiring, folder, { name: 'expiring' })
    hosts.push(own, without)
    say(`postgres: ${count} calls expire while ${PACE} a second come in`)
    // The first turns warm up.
    let removingMs = await timed(() => turnOf(own, without))
    await turnOf(without, own)
    const turns: { during: Turn; without: Turn }[] = []
    do {
      if (removingMs > GIVE_UP_MS) throw new Error(`${count} calls were not removed in time.`)
      let during: Turn | undefined
      removingMs += await timed(async () => {
        during = await turnOf(own, without)
      })
      turns.push({ during: during as Turn, without: await turnOf(without, own) })
    } while (await hasFilled(expiring.url('callplane'), below))
    return {
      rows: [
        rowOf(
          `callplane at ${PACE}/s, nothing expires`,
          other.build,
          turns.map((turn) => turn.without),
        ),
        rowOf(
          `callplane at ${PACE}/s, ${count} calls expire`,
          expiring.build,
          turns.map((turn) => turn.during),
          {
            's until removed': removingMs / 1000,
          },
        ),
      ],
      goals: [
        ratioGoal({
          suite: SUITE,
          name: `p99 at ${PACE}/s while ${count} calls expire`,
          of: 'the p99 without',
          ratios: turns.map((turn) => turn.during.p99 / turn.without.p99),
          most: GOALS.expiryP99,
        }),
      ],
    }
  } finally {
    for (const { pid } of hosts) process.kill(pid, 'SIGCONT')
    await Promise.all(hosts.map((host) => host.stop()))
    await Promise.all(servers.map((server) => server?.stop()))
  }
}

/** Returns what `multiplyCalls` returns. */
async function fill(server: PostgresServer, folder: string, calls: number): Promise<string> {
  const sampler = await startNode(server, folder, { name: 'samples' })
  await runJobs([sampler], server, { jobs: SAMPLES, submitters: SAMPLES })
  await sampler.stop()
  return multiplyCalls({ url: server.url('callplane'), calls, keptForMs: 0 })
}

async function turnOf(host: Host, held: Host): Promise<Turn> {
  process.kill(held.pid, 'SIGSTOP')
  process.kill(host.pid, 'SIGCONT')
  const run: PacedRun = { perSecond: PACE, durationMs: WINDOW_MS }
  const { latenciesMs: latencies, p99Ms: p99 } = await host.ask<PacedJobs>('work', run)
  return { latencies, p99 }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** The p99 is the median over the turns, and the p99 of all calls includes the stalls of the disk. */
function rowOf(contender: string, engine: string, turns: readonly Turn[], more: Row['figures'] = {}): Row {
  const all = turns.flatMap(({ latencies }) => latencies).sort((a, b) => a - b)
  const figures = {
    'p50 ms': quantile(all, 0.5),
    'p99 ms': summarise(turns.map(({ p99 }) => p99)).median,
    'p99 ms of all calls': quantile(all, 0.99),
    'longest ms': quantile(all, 1),
  }
  return { suite: SUITE, contender, engine, figures: { ...figures, ...more } }
}
