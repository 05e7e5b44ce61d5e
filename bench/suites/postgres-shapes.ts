/** Two nodes beside one, calls that wait in the queue, and a snapshot that another client holds open. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { PostgresServer } from '../engines/debian-postgres.ts'
import type { Host } from '../processes.ts'
import { GOALS, ratioGoal } from './postgres-goals.ts'
import { type PostgresSample, paired, rateRatio, requireStored, rowOf, runJobs } from './postgres-samples.ts'
import { startNode, startServer } from './postgres-systems.ts'
import type { Findings, Goal, Settings } from './suite.ts'

const SUITE = 'postgres shapes'
/** All configurations have the same number of submitters, so that nodes are compared and not the sizes of batches. */
export const SUBMITTERS = 128
const JOBS_EACH = 120
/** Queued calls are slower, and get fewer jobs in a round. */
const QUEUED_SHARE = 0.25
/** Fewer slots than submitters: after the first calls, every call waits in the queue and is claimed. */
const FEW_SLOTS = 64

interface Configuration {
  name: string
  database: string
  nodes: number
  queued?: boolean
  held?: boolean
}

const ONE = 'one node'
const TWO = 'two nodes'
const QUEUED = 'one node, queued'
const HELD = 'one node, held snapshot'
const HELD_QUEUED = 'one node, queued, held snapshot'

const CONFIGURATIONS: readonly Configuration[] = [
  { name: ONE, database: 'one', nodes: 1 },
  { name: TWO, database: 'two', nodes: 2 },
  { name: QUEUED, database: 'queued', nodes: 1, queued: true },
  { name: HELD, database: 'held', nodes: 1, held: true },
  { name: HELD_QUEUED, database: 'held_queued', nodes: 1, queued: true, held: true },
]

interface Running extends Configuration {
  server: PostgresServer
  hosts: Host[]
}

export async function shapes(settings: Settings): Promise<Findings> {
  const { quick, trial, say } = settings
  const rounds = trial ? 1 : quick ? 4 : 41
  const jobs = Math.ceil(SUBMITTERS * JOBS_EACH * (trial ? 0.05 : quick ? 0.5 : 1))
  const databases = (held: boolean) =>
    CONFIGURATIONS.filter((each) => (each.held ?? false) === held).map(({ database }) => database)
  // On a server of its own, because a snapshot also keeps back the cleaning of tables that all databases share.
  const servers = [await startServer(settings, databases(false)), await startServer(settings, databases(true))]
  const [usual, withHolder] = servers
  const running: Running[] = []
  const holders: pg.Client[] = []
  try {
    if (!usual || !withHolder) return { rows: [], goals: [] }
    for (const configuration of CONFIGURATIONS) {
      const server = configuration.held ? withHolder : usual
      running.push({ ...configuration, server, hosts: await startNodes(server, settings.folder, configuration) })
    }
    say(`postgres: ${rounds} rounds of ${running.length} configurations, ${SUBMITTERS} submitters`)
    const run = ({ hosts, server, queued }: Running) =>
      runJobs(hosts, server, { jobs: queued ? Math.ceil(jobs * QUEUED_SHARE) : jobs, submitters: SUBMITTERS })
    for (const one of running) for (let times = 0; times < 2; times++) await run(one)
    for (const { server, database, held } of running) if (held) holders.push(await holdSnapshot(server, database))
    const samples = new Map(running.map(({ name }) => [name, [] as PostgresSample[]]))
    for (let round = 0; round < rounds; round++)
      for (const one of round % 2 === 0 ? running : running.toReversed()) samples.get(one.name)?.push(await run(one))
    for (const { name, hosts } of running) for (const host of hosts) await requireStored(name, host)
    const limit = { name: ONE, series: samples.get(ONE) ?? [] }
    return {
      rows: running.map(({ name, server }) => rowOf(SUITE, name, server.build, samples.get(name) ?? [], limit)),
      goals: goalsOf(samples),
    }
  } finally {
    await Promise.all(holders.map((holder) => holder.end()))
    await Promise.all(running.flatMap(({ hosts }) => hosts.map((host) => host.stop())))
    await Promise.all(servers.map((server) => server?.stop()))
  }
}

/** `bench` is the folder of the contenders. Default: this one's. */
export async function startNodes(
  server: PostgresServer,
  folder: string,
  { database, nodes, queued }: Pick<Configuration, 'database' | 'nodes' | 'queued'>,
  bench?: string,
): Promise<Host[]> {
  const hosts: Host[] = []
  for (let node = 0; node < nodes; node++) {
    const slots = queued && { runningCalls: FEW_SLOTS }
    const more = { ...slots, ...(bench !== undefined && { bench }) }
    hosts.push(await startNode(server, folder, { name: `${database}-${node}`, database, ...more }))
    // The first node creates the tables.
    await pause(100)
  }
  return hosts
}

/** As a forgotten session of an administrator does it: the transaction stays open and has read once. */
async function holdSnapshot(server: PostgresServer, database: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url(database) })
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT count(*) FROM pg_class')
  return client
}

function goalsOf(samples: ReadonlyMap<string, PostgresSample[]>): Goal[] {
  const ratios = (one: string, other: string) => paired(samples.get(one) ?? [], samples.get(other) ?? [], rateRatio)
  const goal = (name: string, of: string, one: string, other: string, least: number) =>
    ratioGoal({ suite: SUITE, name, of, ratios: ratios(one, other), least })
  return [
    goal('two nodes', 'the calls/s of one', TWO, ONE, GOALS.twoNodes),
    goal('calls that wait in the queue', 'the calls/s of those that start at once', QUEUED, ONE, GOALS.queued),
    goal('a snapshot held open by another client', 'the calls/s without it', HELD, ONE, GOALS.heldSnapshot),
    goal('queued calls beside a held snapshot', 'the queued calls/s without it', HELD_QUEUED, QUEUED, GOALS.heldQueued),
  ]
}
