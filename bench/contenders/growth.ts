/**
 * Callplane with any number of operations on an existing database, called in process and over HTTP. Request ids are
 * random, like those of real callers: ascending ids would always hit the same warm page.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, jsonSchema, operation } from '../../src/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { ADD, ADD_ARGS, ADD_RESULT } from './add-schemas.ts'
import { type Contender, manyName } from './contender.ts'
import { ADD_LATER } from './durable-envelope.ts'
import { CALLER } from './growth-caller.ts'
import { createRepeater, type Repeat } from './repeat.ts'

type Pair = { a: number; b: number }

/** `sync` and `async` rotate over ten operations spread across the registry. */
export interface GrowthCalls extends Repeat {
  model: 'sync' | 'async'
}

/** Longer than any call takes. */
const HOLD_MS = 60_000
const CALLED = 10

export const start: Contender = async ({ data, operations = 0 }) => {
  if (data === undefined) throw new Error('Give the growth contender a data folder of its own.')
  mkdirSync(data, { recursive: true })
  const store = createSqliteStore({
    file: join(data, 'callplane.db'),
    clock: { now: Date.now, monotonicMs: () => Math.floor(performance.now()), schedule },
  })
  const define = (name: string, model: 'sync' | 'async') =>
    operation(name, {
      args: jsonSchema<Pair>(structuredClone(ADD_ARGS)),
      result: jsonSchema<number>({ ...ADD_RESULT }),
      model,
      run: ({ a, b }) => a + b,
    })
  const names = { sync: [ADD], async: [ADD_LATER] }
  for (let index = 0; index < operations; index++) names[index % 2 === 0 ? 'sync' : 'async'].push(manyName(index))
  const server = await createServer({
    operations: (['sync', 'async'] as const).flatMap((model) => names[model].map((name) => define(name, model))),
    data,
    store,
    log: 'error',
  })

  const caller = (model: 'sync' | 'async') => {
    const called = spread(names[model])
    return (index: number) => {
      const name = called[index % called.length] as string
      const call = { operation: name, args: { a: index, b: 1 }, media: [], requestId: randomUUID() }
      const replying = server.engine.call(call, () => CALLER, { holdMs: HOLD_MS })
      return replying instanceof Promise ? replying.then(check(index)) : check(index)(replying)
    }
  }
  const repeat = { sync: createRepeater(caller('sync')), async: createRepeater(caller('async')) }
  const { port } = await server.listen({ port: 0 })
  return {
    port,
    async work(given) {
      if (given === 'purged') return (await store.expire(1, async () => {})) === 0
      const { model, ...calls } = given as GrowthCalls
      return repeat[model](calls)
    },
    close: () => server.close(1_000),
  }
}

/** Each operation is compiled at its first call, so the suite calls only some of them. */
function spread(names: readonly string[]): string[] {
  const called = Math.min(CALLED, names.length)
  return Array.from({ length: called }, (_, at) => names[Math.floor((at * names.length) / called)] as string)
}

function check(index: number) {
  return (reply: { state: string; result?: unknown }) => {
    if (reply.state !== 'complete' || reply.result !== index + 1) {
      throw new Error(`A call ended as ${JSON.stringify(reply)}.`)
    }
  }
}

function schedule(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}
