/** Callplane itself, from its sources, with its defaults: no authentication, no request log, SQLite with synchronous FULL. */
import { createServer, jsonSchema, type OperationDefinition, operation } from 'callplane'
import { ADD, ADD_ARGS, ADD_RESULT, ZOD_ARGS, ZOD_RESULT } from './add.ts'
import type { Contender } from './contender.ts'

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
      operation('v1:Bytes.Make', { chunked: { mimeType: 'application/octet-stream' }, run: () => pieces(chunkedBytes) }),
      ...many(operations),
    ],
    data,
    log: 'error',
  })
  const { port } = await server.listen({ port: 0 })
  return {
    port,
    work: () => Promise.resolve(undefined),
    close: () => server.close(1_000),
  }
}

export function manyName(index: number): string {
  return `v1:many.operation${index}`
}

function many(count: number): OperationDefinition[] {
  return Array.from({ length: count }, (_, index) =>
    operation(manyName(index), { description: `Adds two numbers, for the ${index}th time.`, args: jsonSchema<Pair>({ ...ADD_ARGS }), result: jsonSchema<number>({ ...ADD_RESULT }), run }),
  )
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
