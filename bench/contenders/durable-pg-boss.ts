/**
 * pg-boss with large batches that keep the result of each job. It polls: with NOTIFY it reached a third of the rate,
 * because Postgres lets only one transaction at a time commit a notification.
 */
import { type Job, PgBoss } from 'pg-boss'
import type { Pair } from './add-checks.ts'
import { ADDED, createWaiters, type JobSystem } from './durable-jobs.ts'

const QUEUE = 'jobs'
const BATCH = 500
const SENDERS = 40

export async function openPgBossJobs(connectionString: string): Promise<JobSystem> {
  const quiet = { connectionString, supervise: false, schedule: false }
  const sender = await new PgBoss({ ...quiet, max: SENDERS }).start()
  await sender.createQueue(QUEUE)
  const worker = await new PgBoss({ ...quiet, max: 4 }).start()
  const waiters = createWaiters()
  tellStored(worker, (id, sum) => waiters.done(id, sum))
  await worker.work(
    QUEUE,
    { batchSize: BATCH, perJobResults: true, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    async (jobs: Job<Pair>[]) =>
      jobs.map(({ id, data }) => ({ id, status: 'completed', output: { sum: data.a + data.b } })),
  )

  return {
    submit(index) {
      const id = uuidOf(index)
      const completed = waiters.wait(id)
      return { accepted: sender.send(QUEUE, { a: index, b: ADDED }, { id }), completed }
    },
    async countStored() {
      const { rows } = await sender.getDb().executeSql(
        `SELECT count(*)::int AS count FROM pgboss.job
         WHERE name = $1 AND state = 'completed' AND (output->>'sum')::int = (data->>'a')::int + (data->>'b')::int`,
        [QUEUE],
      )
      return (rows[0] as { count: number }).count
    },
    async close() {
      await worker.stop({ graceful: false })
      await sender.stop({ graceful: false })
    },
  }
}

/** pg-boss does not report when the results of a batch are stored, so we watch for the statement that stores them. */
function tellStored(worker: PgBoss, stored: (id: string, sum: number) => void): void {
  const database = worker.getDb()
  const execute = database.executeSql.bind(database)
  database.executeSql = async (text, values = []) => {
    const answer = await execute(text, values)
    const [queue, results] = values
    if (queue === QUEUE && typeof results === 'string') {
      for (const { id, output } of JSON.parse(results) as { id: string; output: { sum: number } }[])
        stored(id, output.sum)
    }
    return answer
  }
}

/** We choose the id, because a job can complete before `send` returns its id. */
function uuidOf(index: number): string {
  return `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`
}
