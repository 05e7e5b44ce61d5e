/**
 * Callplane with two callers: an honest one that calls over HTTP, and one that floods from inside the process, so that no
 * CPU time is spent on sending its requests. The flooded operations wait and compute nothing.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Caller, createServer, hashToken, jsonSchema, operation } from '../../src/index.ts'
import { ADD, ADD_ARGS, ADD_RESULT } from './add-schemas.ts'
import type { Contender } from './contender.ts'

type Pair = { a: number; b: number }

export const HONEST_TOKEN = 'honest-caller-of-the-fairness-suite'

/** `sync`: keeps `calls` calls in flight at all times. `async`: puts `calls` calls into the queue once. */
export interface Flood {
  model: 'sync' | 'async'
  calls: number
}

const FLOODER: Caller = { tenant: 'main', issuer: 'bench', subject: 'flooder', scopes: [] }
const LONG_MS = 500

export const start: Contender = async ({ data }) => {
  if (data === undefined) throw new Error('Give the fairness contender a data folder of its own.')
  const schemas = () => ({
    args: jsonSchema<Pair>(structuredClone(ADD_ARGS)),
    result: jsonSchema<number>({ ...ADD_RESULT }),
  })
  const server = await createServer({
    operations: [
      operation(ADD, { ...schemas(), run: ({ a, b }) => a + b }),
      operation('v1:Calculator.AddLater', {
        ...schemas(),
        model: 'async',
        run: async ({ a, b }) => {
          await pause(1)
          return a + b
        },
      }),
      operation('v1:Flood.Hold', { run: () => pause(LONG_MS, null) }),
      operation('v1:Flood.Queue', { model: 'async', run: () => pause(LONG_MS, null) }),
    ],
    data,
    log: 'error',
    auth: { tokens: [{ hash: hashToken(HONEST_TOKEN), kind: 'bearer', subject: 'honest', scopes: [] }] },
    limits: { openCallsPerCaller: 100_000 },
  })
  const { port } = await server.listen({ port: 0 })
  let stopped = false

  const call = async (name: string) => {
    const request = { operation: name, args: {}, media: [], requestId: randomUUID() }
    return server.engine.call(request, () => FLOODER)
  }
  const hold = async () => {
    while (!stopped) await call('v1:Flood.Hold').catch(() => pause(50))
  }

  return {
    port,
    async work(given) {
      const { model, calls } = given as Flood
      if (model === 'sync') for (let n = 0; n < calls; n++) void hold()
      else await Promise.all(Array.from({ length: calls }, () => call('v1:Flood.Queue')))
    },
    close() {
      stopped = true
      return server.close(1_000)
    },
  }
}
