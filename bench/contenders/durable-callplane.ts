/** Callplane's engine called in process, each call until its terminal reply, on SQLite with synchronous FULL. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ownerOf } from '../../src/core/call/caller.ts'
import type { Clock } from '../../src/core/ports/runtime.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { type Caller, createServer, jsonSchema, operation } from '../../src/index.ts'
import { createChannel, createStoreClient, createStoreServer } from '../../src/stores/hub/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { openSocketPair } from '../../src/testing/fakes/socket-pair.ts'
import { ADD_ARGS, ADD_RESULT } from './add-schemas.ts'
import { ADD_LATER } from './durable-envelope.ts'
import { ADDED, type JobSystem } from './durable-jobs.ts'

const CALLER: Caller = { tenant: 'main', issuer: 'bench', subject: 'bench', scopes: ['*'] }
/** Longer than any job takes. */
const HOLD_MS = 60_000

/** `byMessages`: uses the store as a worker process does, although both ends are in this process. */
export async function openCallplaneJobs(folder: string, byMessages = false): Promise<JobSystem> {
  mkdirSync(folder, { recursive: true })
  const clock = { now: Date.now, monotonicMs: () => Math.floor(performance.now()), schedule }
  // Opened here, so that the stored results can be counted.
  const kept = createSqliteStore({ file: join(folder, 'callplane.db'), clock, gatherMs: byMessages ? 1 : 0 })
  const store = byMessages ? await reachByMessages(kept, join(folder, 'line'), clock) : kept
  const server = await createServer({
    operations: [
      operation(ADD_LATER, {
        args: jsonSchema<{ a: number; b: number }>(ADD_ARGS),
        result: jsonSchema<number>(ADD_RESULT),
        model: 'async',
        run: ({ a, b }) => a + b,
      }),
    ],
    data: folder,
    store,
    log: 'error',
  })
  const { engine } = server

  async function run(index: number): Promise<number> {
    const call = { operation: ADD_LATER, args: { a: index, b: ADDED }, media: [], requestId: `job-${index}` }
    const reply = await engine.call(call, () => CALLER, { holdMs: HOLD_MS })
    if (reply.state !== 'complete' || !('result' in reply)) throw new Error(`A call ended as ${JSON.stringify(reply)}.`)
    return reply.result as number
  }

  return {
    submit(index) {
      const completed = run(index)
      return { accepted: completed, completed }
    },
    async countStored(jobs) {
      let right = 0
      for (let index = 0; index < jobs; index++) {
        const found = await store.find(CALLER.tenant, ownerOf(CALLER), `job-${index}`)
        if (found?.outcome?.kind === 'result' && found.outcome.value === index + ADDED) right++
      }
      return right
    },
    close: () => server.close(1_000),
  }
}

async function reachByMessages(kept: Store, path: string, clock: Clock): Promise<Store> {
  const [socket, other] = await openSocketPair(path)
  const left = createStoreServer(kept).serve(createChannel(other))
  const channel = createChannel(socket)
  const store = createStoreClient(channel, { clock })
  const close = async () => {
    await store.close()
    channel.close()
    await left
    await kept.close()
  }
  return { ...store, close }
}

function schedule(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}
