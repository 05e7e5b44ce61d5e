/** graphile-worker with its local queue. It keeps no results, so the handler writes its own row, as its users do. */
import { type Job as GraphileJob, Logger, run } from 'graphile-worker'
import pg from 'pg'
import type { Pair } from './add-checks.ts'
import { ADDED, createWaiters, type JobSystem } from './durable-jobs.ts'

const CONCURRENCY = 24
const POOL = 40

export async function openGraphileJobs(connectionString: string): Promise<JobSystem> {
  const pgPool = new pg.Pool({ connectionString, max: POOL })
  const fail = (error: Error) => {
    throw error
  }
  pgPool.on('error', fail)
  pgPool.on('connect', (client) => client.on('error', fail))
  await pgPool.query('CREATE TABLE results (a int PRIMARY KEY, sum int NOT NULL)')
  const waiters = createWaiters()
  const runner = await run({
    pgPool,
    noHandleSignals: true,
    preset: {
      worker: { concurrentJobs: CONCURRENCY, localQueue: { size: 500 }, pollInterval: 500, maxPoolSize: POOL },
    },
    logger: new Logger(() => () => {}),
    taskList: {
      async add(payload, { query }) {
        const { a, b } = payload as Pair
        await query('INSERT INTO results (a, sum) VALUES ($1, $2)', [a, a + b])
      },
    },
  })
  runner.events.on('job:complete', ({ job, error }: { job: GraphileJob; error: unknown }) => {
    if (error) throw error
    const { a, b } = job.payload as Pair
    waiters.done(String(a), a + b)
  })

  return {
    submit(index) {
      const completed = waiters.wait(String(index))
      return { accepted: runner.addJob('add', { a: index, b: ADDED }), completed }
    },
    async countStored() {
      const { rows } = await pgPool.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM results WHERE sum = a + $1',
        [ADDED],
      )
      return rows[0]?.count ?? 0
    },
    async close() {
      await runner.stop()
      await pgPool.end()
    },
  }
}
