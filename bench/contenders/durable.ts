/** Durable jobs in process, on the job system that the run names. */
import { postgresUrl } from '../engines/postgres.ts'
import type { Contender } from './contender.ts'
import { createJobRunner, type JobSystem } from './durable-jobs.ts'

export interface DurableOptions {
  system: keyof typeof SYSTEMS
  /** Port of the engine that the system needs; ignored if it needs none. */
  enginePort?: number
}

/** Loaded on demand, so that no system loads another's modules. */
const SYSTEMS = {
  sqlite: async (folder) => (await import('./durable-sqlite.ts')).openSqliteJobs(folder),
  callplane: async (folder) => (await import('./durable-callplane.ts')).openCallplaneJobs(folder),
  'callplane by messages': async (folder) => (await import('./durable-callplane.ts')).openCallplaneJobs(folder, true),
  bullmq: async (_folder, port) => (await import('./durable-bullmq.ts')).openBullmqJobs(port),
  nats: async (_folder, port) => (await import('./durable-nats.ts')).openNatsJobs(port),
  'pg-boss': async (_folder, port) =>
    (await import('./durable-pg-boss.ts')).openPgBossJobs(postgresUrl(port, 'pg-boss')),
  'graphile-worker': async (_folder, port) =>
    (await import('./durable-graphile.ts')).openGraphileJobs(postgresUrl(port, 'graphile-worker')),
  'postgres by hand': async (_folder, port) =>
    (await import('./durable-postgres-limit.ts')).openPostgresLimitJobs(postgresUrl(port, 'limit')),
  dbos: async (_folder, port) => (await import('./durable-dbos.ts')).openDbosJobs(postgresUrl(port, 'dbos')),
} satisfies Record<string, (folder: string, port: number) => Promise<JobSystem>>

export const start: Contender = async ({ durable, data = '' }) => {
  if (!durable) throw new Error('Set `durable` to the job system to start.')
  const system = await SYSTEMS[durable.system](data, durable.enginePort ?? 0)
  return { port: 0, work: createJobRunner(system), close: () => system.close() }
}
