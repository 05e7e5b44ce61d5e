/**
 * Hand-written durable jobs on Postgres: the limit. Four connections; jobs that wait together share an INSERT, and ends
 * that wait together share an UPDATE. A job is leased when it is inserted, so nothing claims it. The UPDATE changes no
 * indexed column, so that the new version of a row needs no index entry. Its table has what such a service needs: an
 * owner's request id is taken once, a restart finds unfinished jobs by their node, and old jobs can be removed. It has
 * no retries, rules or failure handling.
 */
import { hash, randomFillSync } from 'node:crypto'
import pg from 'pg'
import { createChecks, type Pair } from './add-checks.ts'
import { ADD_LATER } from './durable-envelope.ts'
import { ADDED, type JobSystem } from './durable-jobs.ts'
import { textArray, uuidArray } from './postgres-arrays.ts'

const OWNER = 'bench|bench'
/** 128 bits of a hash, as of the request id. The table of callers has the rest. */
const CALLER = digest(OWNER)
/** An entry of the audit trail without unusual fields. The others are columns. */
const AUDIT = '{}'
const KEPT_MS = 86_400_000
const CONNECTIONS = 4
const FEW = 32
const MOST = 256
const NODE = 1

interface Submitted {
  id: Buffer
  key: Buffer
  requestId: string
  args: Pair
  sum: number
  accept(): void
  complete(sum: number): void
}

/** The columns that a store of calls needs: who called, what, in which state, under whose lease, and what to keep of it. */
const TABLE = `CREATE TABLE jobs (
    id uuid NOT NULL,
    request_key uuid NOT NULL,
    key_hash uuid,
    caller uuid NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    keep_until bigint NOT NULL,
    ended_at bigint,
    node integer NOT NULL,
    attempt integer NOT NULL,
    settled integer NOT NULL,
    failures integer NOT NULL,
    revision integer NOT NULL,
    state "char" NOT NULL,
    request_id text NOT NULL,
    operation text NOT NULL,
    args text NOT NULL,
    outcome text,
    audit text,
    alias_of uuid
  ) WITH (fillfactor = 50);
  CREATE UNIQUE INDEX jobs_id ON jobs (id);
  CREATE UNIQUE INDEX jobs_request_key ON jobs (request_key);
  CREATE UNIQUE INDEX jobs_key_hash ON jobs (key_hash) WHERE key_hash IS NOT NULL;
  CREATE TABLE callers (hash uuid PRIMARY KEY, owner text NOT NULL)`

const INSERT = {
  name: 'insert',
  text: `INSERT INTO jobs (id, request_key, caller, created_at, expires_at, keep_until, node, attempt, settled, failures,
      revision, state, request_id, operation, args)
    SELECT u.id, u.request_key, u.caller, $7::bigint, $8::bigint, $8::bigint, ${NODE}, 1, 0, 0, 1, 'p', u.request_id,
      u.operation, u.args
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[])
      AS u (id, request_key, caller, request_id, operation, args)`,
}

const UPDATE = {
  name: 'update',
  text: `UPDATE jobs SET state = 'c', revision = 2, outcome = u.outcome, audit = u.audit, ended_at = $4::bigint
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS u (id, outcome, audit)
    WHERE jobs.id = u.id AND jobs.state = 'p' AND jobs.attempt = 1`,
}

/** The planner must not choose a plan that reads the whole table because it was empty when it was planned. */
const OPTIONS = ['plan_cache_mode=force_generic_plan', 'enable_seqscan=off', 'enable_hashjoin=off', 'jit=off']

export async function openPostgresLimitJobs(connectionString: string): Promise<JobSystem> {
  const checks = await createChecks()
  const options = [...OPTIONS, 'enable_mergejoin=off'].map((option) => `-c ${option}`).join(' ')
  const idle = Array.from({ length: CONNECTIONS }, () => new pg.Client({ connectionString, options }))
  const clients = [...idle]
  for (const client of clients) await client.connect()
  await clients[0]?.query(TABLE)
  await clients[0]?.query('INSERT INTO callers VALUES ($1, $2)', [CALLER.toString('hex'), OWNER])
  const ids = createIds()
  const toInsert: Submitted[] = []
  const toUpdate: Submitted[] = []
  let scheduled = false

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      dispatch()
    })
  }

  /** Ends go first: their submitters wait for longer. */
  function dispatch(): void {
    while (idle.length > 0) {
      const waiting = toUpdate.length > 0 ? toUpdate : toInsert
      if (waiting.length === 0) return
      const size = Math.min(MOST, Math.max(FEW, Math.ceil(waiting.length / idle.length)))
      const client = idle.pop() as pg.Client
      void run(client, waiting.splice(0, size), waiting === toUpdate ? update : insert)
    }
  }

  async function run(
    client: pg.Client,
    jobs: readonly Submitted[],
    send: (client: pg.Client, jobs: readonly Submitted[]) => Promise<void>,
  ): Promise<void> {
    await send(client, jobs)
    idle.push(client)
    schedule()
  }

  async function insert(client: pg.Client, jobs: readonly Submitted[]): Promise<void> {
    const now = Date.now()
    const values = [
      uuidArray(jobs.map(({ id }) => id)),
      uuidArray(jobs.map(({ key }) => key)),
      uuidArray(jobs.map(() => CALLER)),
      textArray(jobs.map(({ requestId }) => requestId)),
      textArray(jobs.map(() => ADD_LATER)),
      textArray(jobs.map(({ args }) => JSON.stringify(args))),
      now,
      now + KEPT_MS,
    ]
    await client.query({ ...INSERT, values })
    for (const job of jobs) {
      const { a, b } = job.args
      job.sum = a + b
      if (!checks.result(job.sum)) throw new TypeError('The result is wrong.')
      job.accept()
      toUpdate.push(job)
    }
  }

  async function update(client: pg.Client, jobs: readonly Submitted[]): Promise<void> {
    const now = Date.now()
    const values = [
      uuidArray(jobs.map(({ id }) => id)),
      textArray(jobs.map(({ sum }) => `{"kind":"result","value":${sum}}`)),
      textArray(jobs.map(() => AUDIT)),
      now,
    ]
    const { rowCount } = await client.query({ ...UPDATE, values })
    if (rowCount !== jobs.length) throw new Error(`Only ${rowCount} of ${jobs.length} ends were stored.`)
    for (const { complete, sum } of jobs) complete(sum)
  }

  return {
    submit(index) {
      const args = { a: index, b: ADDED }
      if (!checks.args(args)) throw new TypeError('The arguments are wrong.')
      const requestId = `job-${index}`
      const key = digest(`${OWNER}\n${requestId}`)
      const accepted = Promise.withResolvers<void>()
      const completed = Promise.withResolvers<number>()
      const [accept, complete] = [accepted.resolve, completed.resolve]
      toInsert.push({ id: ids.next(), key, requestId, args, sum: 0, accept, complete })
      schedule()
      return { accepted: accepted.promise, completed: completed.promise }
    },
    async countStored() {
      const text = `SELECT count(*)::integer AS count FROM jobs WHERE state = 'c'
        AND (outcome::json->>'value')::integer = (args::json->>'a')::integer + ${ADDED}`
      const { rows } = await (clients[0] as pg.Client).query<{ count: number }>(text)
      return rows[0]?.count ?? 0
    },
    async close() {
      await Promise.all(clients.map((client) => client.end()))
    },
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, 16)
}

const DRAWN = 256

/** UUIDs of version 7, drawn in bulk. They ascend with time, so that new entries of the index share pages. */
function createIds(): { next(): Buffer } {
  let drawn = Buffer.alloc(0)
  let at = 0
  return {
    next() {
      if (at >= drawn.length) {
        drawn = randomFillSync(Buffer.allocUnsafe(DRAWN * 16))
        at = 0
      }
      const id = drawn.subarray(at, at + 16)
      at += 16
      id.writeUIntBE(Date.now(), 0, 6)
      id[6] = ((id[6] as number) & 0x0f) | 0x70
      id[8] = ((id[8] as number) & 0x3f) | 0x80
      return id
    },
  }
}
