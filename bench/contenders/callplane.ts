/**
 * Callplane itself, from its sources, with its defaults: SQLite with synchronous FULL, and no authentication or request
 * log. `guarded` turns both on.
 */
import { randomUUID } from 'node:crypto'
import {
  type Caller,
  type CallplaneServer,
  createServer,
  jsonSchema,
  type OperationDefinition,
  operation,
} from '../../src/index.ts'
import { freeUdpPort } from '../free-port.ts'
import { ADD, ADD_ARGS, ADD_RESULT, JWT_ISSUER, JWT_SECRET } from './add-schemas.ts'
import { type Contender, manyName } from './contender.ts'

type Pair = { a: number; b: number }

const run = ({ a, b }: Pair) => a + b

export const start: Contender = async (options) => {
  const { validator, data, operations = 0, chunkedBytes = 0, guarded = false, executionLog = true, tls } = options
  if (data === undefined) throw new Error('Give the callplane contender a data folder of its own.')
  const add = await adder(validator)
  const quicPort = tls && (await freeUdpPort())
  const server = await createServer({
    operations: [
      add(ADD, 'Adds two numbers.'),
      operation('v1:Calculator.AddLater', { ...plainSchemas(), model: 'async', run }),
      operation('v1:Bytes.Make', {
        chunked: { mimeType: 'application/octet-stream' },
        run: () => pieces(chunkedBytes),
      }),
      ...Array.from({ length: operations }, (_, index) => add(manyName(index), `Addition number ${index}.`)),
    ],
    data,
    // Each request writes one line of level info to standard output, which the run redirects to a file.
    log: guarded ? 'info' : 'error',
    requestLog: guarded,
    executionLog,
    ...(guarded && { auth: { jwt: [{ issuer: JWT_ISSUER, audience: 'bench', key: { secret: JWT_SECRET } }] } }),
    rest: { allowExecute: true },
    ...(tls && quicPort && { tls, quic: { port: quicPort } }),
  })
  const { port } = await server.listen({ port: 0 })
  return {
    port: quicPort ?? port,
    work: (given) => callInProcess(server, given as InProcess),
    close: () => server.close(1_000),
  }
}

/** Every operation has its own schemas, as in a real program. */
function plainSchemas() {
  return { args: jsonSchema<Pair>(structuredClone(ADD_ARGS)), result: jsonSchema<number>({ ...ADD_RESULT }) }
}

/** Loads zod only for the rows that use it. */
async function adder(
  validator: 'ajv' | 'zod' = 'ajv',
): Promise<(name: string, description: string) => OperationDefinition> {
  if (validator === 'ajv') return (name, description) => operation(name, { description, ...plainSchemas(), run })
  const { zodSchemas } = await import('./add-zod.ts')
  return (name, description) => operation(name, { description, ...zodSchemas(), run })
}

export interface InProcess {
  operation: string
  calls: number
  concurrency: number
}

const CALLER: Caller = { tenant: 'main', issuer: 'bench', subject: 'bench', scopes: ['*'] }

/** Calls the engine directly and waits for each terminal reply. Returns the calls per second. */
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

const PIECE_BYTES = 64 * 1024

/** Every piece differs from the one before, so that the check detects a chunk in the wrong place. */
function* pieces(total: number): Iterable<Uint8Array> {
  const piece = new Uint8Array(PIECE_BYTES)
  const view = new DataView(piece.buffer)
  for (let at = 0; at < total; at += PIECE_BYTES) {
    view.setUint32(0, at / PIECE_BYTES)
    yield piece.subarray(0, Math.min(PIECE_BYTES, total - at)).slice()
  }
}
