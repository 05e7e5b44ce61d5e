/** Callplane on a Postgres database, as one of its nodes: jobs in process, and calls over HTTP for what nodes share. */
import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Caller, createServer, jsonSchema, operation } from '../../src/index.ts'
import { tablesOfCalls } from '../call-tables.ts'
import { ADD_ARGS, ADD_RESULT } from './add-schemas.ts'
import type { Contender } from './contender.ts'
import { ADD_LATER } from './durable-envelope.ts'
import { ADDED, createJobRunner, type JobSystem } from './durable-jobs.ts'

export interface NodeOptions {
  url: string
  /** Distinguishes the request ids of nodes on one database. */
  name: string
  /** Default: the server's. */
  leaseMs?: number
  /** Concurrent attempts. Default: enough for all submitters, so that no call waits in the queue. */
  runningCalls?: number
}

/** Answers after `delayMs` with the time at which it did, of the clock that all processes of the machine share. */
export const END_LATER = 'v1:Bench.EndLater'
/** Its first attempt never ends. */
export const HANG_ONCE = 'v1:Bench.HangOnce'

/** Of no secret: the databases are gone after the run. */
const KEY = Buffer.alloc(32, 7).toString('base64')
/** Longer than any job takes. */
const HOLD_MS = 60_000
/** More than any number of submitters in this suite, beyond the slots that one caller leaves to others. */
const MANY_CALLS = 2_048

/** Microseconds of a clock that does not depend on the process. */
export function sharedClockUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

export const start: Contender = async ({ node, data }) => {
  if (!node || data === undefined) throw new Error('Give a node its options and a data folder.')
  const { url, leaseMs, runningCalls = MANY_CALLS } = node
  mkdirSync(data, { recursive: true })
  const server = await createServer({
    // Nodes on one database have the same keys.
    vault: { key: KEY },
    links: { key: KEY },
    operations: [
      operation(ADD_LATER, {
        args: jsonSchema<{ a: number; b: number }>(ADD_ARGS),
        result: jsonSchema<number>(ADD_RESULT),
        model: 'async',
        run: ({ a, b }) => a + b,
      }),
      operation(END_LATER, {
        args: jsonSchema<{ delayMs: number }>({
          type: 'object',
          properties: { delayMs: { type: 'number' } },
          required: ['delayMs'],
        }),
        result: jsonSchema<number>({ type: 'number' }),
        model: 'async',
        async run({ delayMs }) {
          await pause(delayMs)
          return sharedClockUs()
        },
      }),
      operation(HANG_ONCE, {
        args: jsonSchema<object>({ type: 'object' }),
        result: jsonSchema<number>({ type: 'number' }),
        model: 'async',
        sideEffecting: false,
        retry: { attempts: 3, backoffMs: 10 },
        timeoutMs: 600_000,
        run: (_args, { attempt }) => (attempt === 1 ? new Promise<number>(() => {}) : sharedClockUs()),
      }),
    ],
    data,
    store: url,
    limits: { runningCalls },
    ...(leaseMs !== undefined && { work: { leaseMs } }),
    log: 'error',
  })
  const { port } = await server.listen({ port: 0 })
  const jobs = createJobRunner(jobsOf(server.engine, node))
  return { port, work: (given) => jobs(given), close: () => server.close(1_000) }
}

type Engine = Awaited<ReturnType<typeof createServer>>['engine']

const CALLER: Caller = { tenant: 'main', issuer: 'bench', subject: 'bench', scopes: ['*'] }

function jobsOf(engine: Engine, { url, name }: NodeOptions): JobSystem {
  const idOf = (index: number) => `${name}-${index}`

  async function run(index: number): Promise<number> {
    const call = { operation: ADD_LATER, args: { a: index, b: ADDED }, media: [], requestId: idOf(index) }
    const reply = await engine.call(call, () => CALLER, { holdMs: HOLD_MS })
    if (reply.state !== 'complete' || !('result' in reply)) throw new Error(`A call ended as ${JSON.stringify(reply)}.`)
    return reply.result as number
  }

  return {
    submit(index) {
      const completed = run(index)
      return { accepted: completed, completed }
    },
    async countStored() {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      try {
        let stored = 0
        for (const table of await tablesOfCalls(client)) {
          const text = `SELECT count(*)::integer AS count FROM ${table} WHERE request_id LIKE $1
            AND (outcome::json->>'value')::integer = (args::json->>'a')::integer + ${ADDED}`
          stored += (await client.query<{ count: number }>(text, [`${name}-%`])).rows[0]?.count ?? 0
        }
        return stored
      } finally {
        await client.end()
      }
    },
    // The server closes its store.
    close: async () => {},
  }
}
