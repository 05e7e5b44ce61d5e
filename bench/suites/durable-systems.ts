/** The job systems that are measured, their requirements, and their fastest settings. */
import type { DurableOptions } from '../contenders/durable.ts'
import type { Engine, Missing } from '../engines/engine.ts'
import { startNats } from '../engines/nats.ts'
import { startPostgres } from '../engines/postgres.ts'
import { startRedis } from '../engines/redis.ts'
import { keepInstalled } from '../installed.ts'
import type { Settings } from './suite.ts'

interface JobSubject {
  name: string
  system: DurableOptions['system']
  engine?: EngineName
  needs?: readonly string[]
  /** Number of jobs in one round; slow systems get fewer. */
  jobs: number
  /** The system takes part in every n-th round. */
  every: number
  /** True if submitters do not wait for a job to end. For systems that poll, because waiting would stall them. */
  ahead?: boolean
  /** True if it is part of a quick run. */
  main?: boolean
}

type EngineName = keyof typeof ENGINES

export const LIMIT = 'SQLite by hand'
export const OURS = 'callplane'

const SUBJECTS: readonly JobSubject[] = [
  { name: LIMIT, system: 'sqlite', needs: ['better-sqlite3'], jobs: 8_000, every: 1, main: true },
  { name: OURS, system: 'callplane', jobs: 8_000, every: 1, main: true },
  {
    name: 'BullMQ',
    system: 'bullmq',
    engine: 'redis',
    needs: ['bullmq'],
    jobs: 2_000,
    every: 3,
    ahead: true,
    main: true,
  },
  {
    name: 'NATS JetStream',
    system: 'nats',
    engine: 'nats',
    needs: ['@nats-io/jetstream', '@nats-io/kv', '@nats-io/transport-node'],
    jobs: 2_000,
    every: 3,
    main: true,
  },
  { name: 'pg-boss', system: 'pg-boss', engine: 'postgres', needs: ['pg-boss'], jobs: 2_000, every: 5, ahead: true },
  { name: 'DBOS', system: 'dbos', engine: 'postgres', needs: ['@dbos-inc/dbos-sdk'], jobs: 500, every: 5 },
  {
    name: 'graphile-worker',
    system: 'graphile-worker',
    engine: 'postgres',
    needs: ['graphile-worker', 'pg'],
    jobs: 500,
    every: 5,
    ahead: true,
  },
]

const ENGINES = {
  redis: startRedis,
  nats: startNats,
  postgres: () => startPostgres(['pg-boss', 'dbos', 'graphile-worker']),
} satisfies Record<string, (folder: string) => Promise<Engine | Missing>>

export interface ReadySubject extends Omit<JobSubject, 'engine'> {
  engine?: Engine
}

/** Starts the installed engines, and prints which systems are skipped because their engine is missing. */
export async function readySubjects({ quick, trial, folder, say }: Settings): Promise<ReadySubject[]> {
  const wanted = SUBJECTS.filter(({ main }) => main || trial || !quick)
  const started = new Map<EngineName, Engine | Missing>()
  const ready: ReadySubject[] = []
  for (const { engine: name, ...subject } of keepInstalled(wanted, say)) {
    if (name === undefined) {
      ready.push(subject)
      continue
    }
    const engine = started.get(name) ?? (await ENGINES[name](folder))
    started.set(name, engine)
    if ('missing' in engine) say(`skipped: ${subject.name} (${engine.missing})`)
    else ready.push({ ...subject, engine })
  }
  return ready
}

export async function stopEngines(subjects: readonly ReadySubject[]): Promise<void> {
  await Promise.all([...new Set(subjects.map(({ engine }) => engine))].map((engine) => engine?.stop()))
}
