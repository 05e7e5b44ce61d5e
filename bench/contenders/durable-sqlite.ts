/**
 * Hand-written durable jobs on better-sqlite3: the limit. It inserts all jobs submitted in one turn of the event loop
 * in one transaction, runs them, and updates them in another. Its table has what such a service needs: an owner finds a
 * job by its request id, a restart finds unfinished jobs, and old jobs can be removed. It has no leases, retries or
 * rules.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createChecks, type Pair } from './add-checks.ts'
import { ADD_LATER } from './durable-envelope.ts'
import { ADDED, type JobSystem } from './durable-jobs.ts'

const OWNER = 'bench|bench'
const KEPT_MS = 86_400_000

interface Submitted {
  id: string
  args: Pair
  accept(): void
  complete(sum: number): void
}

export interface SqliteJobs extends JobSystem {
  /** Runs a job with arguments that the caller chooses. */
  run(id: string, args: Pair): Promise<number>
}

export async function openSqliteJobs(folder: string): Promise<SqliteJobs> {
  const checks = await createChecks()
  mkdirSync(folder, { recursive: true })
  const db = new Database(join(folder, 'jobs.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(`
    CREATE TABLE jobs (
      owner TEXT NOT NULL,
      request_id TEXT NOT NULL,
      operation TEXT NOT NULL,
      args TEXT NOT NULL,
      state TEXT NOT NULL,
      result TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      PRIMARY KEY (owner, request_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX jobs_pending ON jobs (created_at) WHERE state = 'pending';
    CREATE INDEX jobs_by_expiry ON jobs (expires_at);
  `)
  const insert = db.prepare<[string, string, string, string, number, number]>(
    `INSERT INTO jobs (owner, request_id, operation, args, state, created_at, expires_at)
     VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
  )
  const update = db.prepare<[string, number, string, string]>(
    `UPDATE jobs SET state = 'complete', result = ?, ended_at = ? WHERE owner = ? AND request_id = ?`,
  )
  const stored = db
    .prepare<[string, string], string>(
      `SELECT result FROM jobs WHERE owner = ? AND request_id = ? AND state = 'complete'`,
    )
    .pluck()
  let waiting: Submitted[] = []

  const insertAll = db.transaction((jobs: readonly Submitted[]) => {
    const now = Date.now()
    for (const { id, args } of jobs) insert.run(OWNER, id, ADD_LATER, JSON.stringify(args), now, now + KEPT_MS)
  })
  const updateAll = db.transaction((jobs: readonly Submitted[], sums: readonly number[]) => {
    const now = Date.now()
    for (const [at, { id }] of jobs.entries()) update.run(JSON.stringify(sums[at]), now, OWNER, id)
  })

  function flush(): void {
    const jobs = waiting
    waiting = []
    insertAll.immediate(jobs)
    for (const { accept } of jobs) accept()
    const sums = jobs.map(({ args: { a, b } }) => valid(a + b))
    updateAll.immediate(jobs, sums)
    for (const [at, { complete }] of jobs.entries()) complete(sums[at] as number)
  }

  function valid(sum: number): number {
    if (!checks.result(sum)) throw new TypeError('The result is wrong.')
    return sum
  }

  function submit(id: string, args: Pair) {
    if (!checks.args(args)) throw new TypeError('The arguments are wrong.')
    const accepted = Promise.withResolvers<void>()
    const completed = Promise.withResolvers<number>()
    waiting.push({ id, args, accept: accepted.resolve, complete: completed.resolve })
    if (waiting.length === 1) setImmediate(flush)
    return { accepted: accepted.promise, completed: completed.promise }
  }

  return {
    submit: (index) => submit(`job-${index}`, { a: index, b: ADDED }),
    run: (id, args) => submit(id, args).completed,
    async countStored(jobs) {
      let right = 0
      for (let index = 0; index < jobs; index++) {
        if (stored.get(OWNER, `job-${index}`) === String(index + ADDED)) right++
      }
      return right
    },
    async close() {
      db.close()
    },
  }
}
