/**
 * What a call costs beside 0, 1 million and 5 million stored ones, on the same server. After so many rows are written at
 * once, Postgres vacuums them, the store closes their generation, and the node reads their keys. The rounds begin when
 * that is over, as in a system that has had its calls for long.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresServer } from '../engines/debian-postgres.ts'
import type { Host } from '../processes.ts'
import { multiplyCalls } from './postgres-fill.ts'
import { GOALS, ratioGoal } from './postgres-goals.ts'
import { type PostgresSample, paired, requireStored, rowOf, runJobs, totalUs } from './postgres-samples.ts'
import { startNode, startServer } from './postgres-systems.ts'
import type { Findings, Settings } from './suite.ts'

const SUITE = 'postgres stored'
const SUBMITTERS = 64
const JOBS_EACH = 160
const SAMPLES = 64
const DAY_MS = 86_400_000

export async function stored(settings: Settings): Promise<Findings> {
  const { quick, trial, folder, say } = settings
  const sizes = trial ? [0, 1_000] : quick ? [0, 100_000, 500_000] : [0, 1_000_000, 5_000_000]
  const rounds = trial ? 1 : quick ? 4 : 15
  const jobs = Math.ceil(SUBMITTERS * JOBS_EACH * (trial ? 0.05 : 1))
  const databases = sizes.map((size) => `stored_${size}`)
  const server = await startServer(settings, databases)
  if (!server) return { rows: [], goals: [] }
  const hosts: Host[] = []
  try {
    for (const size of sizes) {
      if (size > 0) await fill(settings, server, size)
      hosts.push(await startNode(server, folder, { name: `stored-${size}`, database: `stored_${size}` }))
    }
    say(`postgres: ${rounds} rounds beside ${sizes.map(shown).join(', ')} stored calls`)
    const run = (host: Host) => runJobs([host], server, { jobs, submitters: SUBMITTERS })
    for (const host of hosts) for (let times = 0; times < 3; times++) await run(host)
    if (!trial) await settle(settings, server, hosts)
    const samples = hosts.map(() => [] as PostgresSample[])
    for (let round = 0; round < rounds; round++) {
      const order = hosts.map((_, at) => at)
      for (const at of round % 2 === 0 ? order : order.reverse()) samples[at]?.push(await run(hosts[at] as Host))
    }
    for (const host of hosts) await requireStored(host.name, host)
    const [none = []] = samples
    const limit = { name: nameOf(0), series: none }
    const costs = (own: readonly PostgresSample[]) => paired(own, none, (a, b) => totalUs(a) / totalUs(b))
    return {
      rows: sizes.map((size, at) => rowOf(SUITE, nameOf(size), server.build, samples[at] ?? [], limit)),
      goals: sizes.slice(1).map((size, at) =>
        ratioGoal({
          suite: SUITE,
          name: `CPU time of node and Postgres per call, ${shown(size)} stored`,
          of: 'that without stored calls',
          ratios: costs(samples[at + 1] ?? []),
          most: GOALS.flat,
        }),
      ),
    }
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
    await server.stop()
  }
}

/** A generation is closed a minute after it was opened, at the earliest. */
const FIRST_MS = 75_000
const LOOK_EVERY_MS = 5_000
/** Idle nodes take some milliseconds a second. */
const QUIET = 0.05
const GIVE_UP_MS = 900_000

/** Waits until nodes and server use next to no CPU. */
async function settle({ say }: Settings, server: PostgresServer, hosts: readonly Host[]): Promise<void> {
  const cpuUs = async () =>
    (await Promise.all(hosts.map((host) => host.cpuUs()))).reduce((sum, us) => sum + us, server.cpuUs())
  const startedMs = performance.now()
  await pause(FIRST_MS)
  // An accept makes the node see that a generation was closed.
  for (const host of hosts) await runJobs([host], server, { jobs: SAMPLES, submitters: SAMPLES })
  for (let quiet = 0; quiet < 3; ) {
    const before = await cpuUs()
    await pause(LOOK_EVERY_MS)
    quiet = (await cpuUs()) - before < QUIET * LOOK_EVERY_MS * 1_000 ? quiet + 1 : 0
    if (performance.now() - startedMs > GIVE_UP_MS) throw new Error('The servers did not settle.')
  }
  say(`postgres: settled after ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}

async function fill({ folder, say }: Settings, server: PostgresServer, size: number): Promise<void> {
  const database = `stored_${size}`
  const startedAt = performance.now()
  const host = await startNode(server, folder, { name: 'samples', database })
  await runJobs([host], server, { jobs: SAMPLES, submitters: SAMPLES })
  await host.stop()
  await multiplyCalls({ url: server.url(database), calls: size, keptForMs: DAY_MS })
  say(`postgres: filled with ${shown(size)} calls in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
}

function nameOf(size: number): string {
  return `callplane, ${shown(size)} stored`
}

function shown(size: number): string {
  return size.toLocaleString('en')
}
