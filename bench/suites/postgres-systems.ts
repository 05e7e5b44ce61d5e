/** The systems that are measured on Postgres, each on its own database server, and NATS. */
import { join } from 'node:path'
import type { DurableOptions } from '../contenders/durable.ts'
import { isRiverBuilt } from '../contenders/postgres-river.ts'
import { isPostgresMissing, type PostgresServer, startDebianPostgres } from '../engines/debian-postgres.ts'
import type { Engine } from '../engines/engine.ts'
import { startNats } from '../engines/nats.ts'
import { keepInstalled } from '../installed.ts'
import { type Host, startHost } from '../processes.ts'
import type { Settings } from './suite.ts'

export const LIMIT = 'Postgres by hand'
export const OURS = 'callplane'
export const NATS = 'NATS JetStream'
const RIVER = 'River'
export const POSTGRES_PEERS = ['pg-boss', 'graphile-worker', 'DBOS'] as const

interface Subject {
  name: string
  /** Absent for Callplane and River. */
  system?: DurableOptions['system']
  needs?: readonly string[]
  /** Jobs in a round for each submitter; slow systems get fewer. */
  jobsEach: number
  /** It takes part in every n-th round. */
  every: number
  /** Submitters do not wait until a job ends. For systems that poll, because waiting would stall them. */
  ahead?: boolean
}

const SUBJECTS: readonly Subject[] = [
  { name: LIMIT, system: 'postgres by hand', needs: ['pg'], jobsEach: 160, every: 1 },
  { name: OURS, needs: ['pg'], jobsEach: 160, every: 1 },
  {
    name: NATS,
    system: 'nats',
    needs: ['@nats-io/jetstream', '@nats-io/kv', '@nats-io/transport-node'],
    jobsEach: 32,
    every: 3,
  },
  { name: 'pg-boss', system: 'pg-boss', needs: ['pg-boss'], jobsEach: 12, every: 4, ahead: true },
  { name: 'DBOS', system: 'dbos', needs: ['@dbos-inc/dbos-sdk'], jobsEach: 8, every: 4 },
  {
    name: 'graphile-worker',
    system: 'graphile-worker',
    needs: ['graphile-worker', 'pg'],
    jobsEach: 8,
    every: 4,
    ahead: true,
  },
  { name: RIVER, jobsEach: 24, every: 4, ahead: true },
]

export interface RunningSubject extends Subject {
  host: Host
  engine: Engine
  /** The engine's name and build. */
  build: string
}

/** Databases of the systems, as their contenders expect them. */
const DATABASES: Readonly<Record<string, string>> = {
  [LIMIT]: 'limit',
  [OURS]: 'callplane',
  DBOS: 'dbos',
  [RIVER]: 'river',
}

export async function startSubjects({ folder, say }: Settings): Promise<RunningSubject[]> {
  const running: RunningSubject[] = []
  try {
    for (const subject of keepInstalled(SUBJECTS, say)) {
      const started = await startSubject(subject, folder)
      if ('missing' in started) say(`skipped: ${subject.name} (${started.missing})`)
      else running.push(started)
    }
    return running
  } catch (thrown) {
    await stopSubjects(running)
    throw thrown
  }
}

export async function stopSubjects(running: readonly RunningSubject[]): Promise<void> {
  await Promise.all(running.map(({ host }) => host.stop()))
  await Promise.all(running.map(({ engine }) => engine.stop()))
}

async function startSubject(subject: Subject, folder: string): Promise<RunningSubject | { missing: string }> {
  const { name, system } = subject
  const database = DATABASES[name] ?? name
  if (name === RIVER && !isRiverBuilt())
    return { missing: 'it is not built: with Go installed, "npm run engines -- bench" builds it' }
  const engine = system === 'nats' ? await startNats(folder) : await startDebianPostgres([database])
  if ('missing' in engine) return engine
  try {
    const host = await startSystem(name, system, engine, folder)
    return { ...subject, host, engine, build: 'build' in engine ? (engine as PostgresServer).build : 'NATS on files' }
  } catch (thrown) {
    await engine.stop()
    throw thrown
  }
}

function startSystem(name: string, system: Subject['system'], engine: Engine, folder: string): Promise<Host> {
  if (system) return startHost(name, { contender: 'durable', durable: { system, enginePort: engine.port } })
  const server = engine as PostgresServer
  if (name !== RIVER) return startNode(server, folder, { name })
  return startHost(name, { contender: 'postgres-river', node: { url: server.url('river'), name } })
}

export interface NodeSettings {
  name: string
  /** Default: `callplane`. */
  database?: string
  leaseMs?: number
  runningCalls?: number
  /** The folder of the contenders. Default: this one's. */
  bench?: string
}

export function startNode(
  server: PostgresServer,
  folder: string,
  { name, database = 'callplane', bench, ...more }: NodeSettings,
): Promise<Host> {
  const data = join(folder, `node-${server.port}-${database}-${name}`)
  const node = { url: server.url(database), name, ...more }
  return startHost(name, { contender: 'postgres-node', node, data }, undefined, bench)
}

/** For parts of the suite that need no other system. Returns `undefined` if there is no Postgres. */
export async function startServer(
  { say }: Settings,
  databases: readonly string[] = ['callplane'],
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer | undefined> {
  const server = await startDebianPostgres(databases, settings)
  if (!isPostgresMissing(server)) return server
  say(`skipped: ${server.missing}`)
  return undefined
}
