/** Callplane itself, from its sources, with its defaults: no authentication, no request log, SQLite with synchronous FULL. */
import { randomUUID } from 'node:crypto'
import {
  type Caller,
  type CallplaneServer,
  createServer,
  jsonSchema,
  type OperationDefinition,
  operation,
} from 'callplane'
import { z } from 'zod'
import { ADD, ADD_ARGS, ADD_RESULT, ZOD_ARGS, ZOD_RESULT } from './add.ts'
import { type Contender, manyName } from './contender.ts'

type Pair = { a: number; b: number }

const PLAIN = { args: jsonSchema<Pair>(ADD_ARGS), result: jsonSchema<number>(ADD_RESULT) }
const run = ({ a, b }: Pair) => a + b

export const start: Contender = async ({ validator, data, operations = 0, chunkedBytes = 0 }) => {
  if (data === undefined) throw new Error('Give the callplane contender a data folder of its own.')
  const server = await createServer({
    operations: [
      validator === 'zod'
        ? operation(ADD, { args: ZOD_ARGS, result: ZOD_RESULT, run })
        : operation(ADD, { ...PLAIN, run }),
      operation('v1:Calculator.AddLater', { ...PLAIN, model: 'async', run }),
      operation('v1:Bytes.Make', {
        chunked: { mimeType: 'application/octet-stream' },
        run: () => pieces(chunkedBytes),
      }),
      ...many(operations, validator),
    ],
    data,
    log: 'error',
  })
  const { port } = await server.listen({ port: 0 })
  return {
    port,
    work: (given) => callInProcess(server, given as InProcess),
    close: () => server.close(1_000),
  }
}

export interface InProcess {
  operation: string
  calls: number
  concurrency: number
}

const CALLER: Caller = { tenant: 'main', issuer: 'bench', subject: 'bench', scopes: ['*'] }

/** Calls straight into the engine, from call to terminal reply; how many a second. */
async function callInProcess(
  { engine }: CallplaneServer,
  { operation, calls, concurrency }: InProcess,
): Promise<number> {
  const run = randomUUID()
  let made = 0
  const startedAt = performance.now()
  const callOneByOne = async () => {
    while (made < calls) {
      const a = made++
      const call = { operation, args: { a, b: 1 }, media: [], requestId: `${run}-${a}` }
      const reply = await engine.call(call, () => CALLER, { holdMs: 10_000 })
      if (reply.state !== 'complete' || !('result' in reply) || reply.result !== a + 1) {
        throw new Error(`A call ended as ${JSON.stringify(reply)}.`)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, callOneByOne))
  return (calls * 1000) / (performance.now() - startedAt)
}

/** Every operation has schemas of its own, as in a real program. */
function many(count: number, validator: 'ajv' | 'zod' = 'ajv'): OperationDefinition[] {
  return Array.from({ length: count }, (_, index) => {
    const description = `Adds two numbers, number ${index} of its kind.`
    if (validator === 'zod') {
      return operation(manyName(index), {
        description,
        args: z.object({ a: z.number(), b: z.number() }),
        result: z.number(),
        run,
      })
    }
    const args = jsonSchema<Pair>({ ...ADD_ARGS, title: `Arguments ${index}` })
    return operation(manyName(index), { description, args, result: jsonSchema<number>({ ...ADD_RESULT }), run })
  })
}

const PIECE_BYTES = 64 * 1024

/** Every piece differs from the one before, so that a chunk in the wrong place is noticed. */
function* pieces(total: number): Iterable<Uint8Array> {
  const piece = new Uint8Array(PIECE_BYTES)
  const view = new DataView(piece.buffer)
  for (let at = 0; at < total; at += PIECE_BYTES) {
    view.setUint32(0, at / PIECE_BYTES)
    yield piece.subarray(0, Math.min(PIECE_BYTES, total - at)).slice()
  }
}
