/**
 * Counts the heap bytes that one call builds, with enough memory that no garbage collection runs meanwhile, and how many
 * of them are left after a collection of the young generation. The counts are the same on every machine. The first one
 * grows with every object built for a call, the second one with every object that outlives it.
 * count-bytes.ts runs it in a separate process.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { z } from 'zod'
import type { Caller } from '../../src/core/call/caller.ts'
import { META, STATELESS_VERSION } from '../../src/protocols/mcp/wire.ts'

const WARM_UP = 3_000
const CALLS = 2_000
/** The smallest count of these is taken: work that the server does now and then falls into one of them. */
const WINDOWS = 3

/** An extra allocation for each call that stays, to show that both counts detect it. */
const wasteBytes = Number(process.argv[2] ?? 0)
/** The URL of a database, for durable calls only. Default: SQLite. */
const store = process.argv[3]
/** Concurrent durable calls. On Postgres few, because calls of one batch share what a statement builds. */
const width = store === undefined ? 50 : 2
const wasted: number[][] = []

function run({ a, b }: { a: number; b: number }): number {
  if (wasteBytes > 0) wasted.push(Array.from({ length: wasteBytes / 8 }, () => a + 0.5))
  return a + b
}

const shape = { args: z.object({ a: z.number(), b: z.number() }), result: z.number() }
const add = operation('v1:Calculator.Add', { ...shape, run })
const addLater = operation('v1:Calculator.AddLater', { ...shape, model: 'async', run })

const data = mkdtempSync(join(tmpdir(), 'callplane-allocations-'))
const server = await createServer({ operations: [add, addLater], data, ...(store !== undefined && { store }) })
const { port } = await server.listen({ port: 0 })
const caller: Caller = { tenant: 'main', issuer: 'none', subject: 'bench', scopes: ['*'] }
let ids = 0

async function inProcess(name: string): Promise<void> {
  const call = { operation: name, args: { a: 1, b: 2 }, media: [], requestId: `r-${ids++}` }
  const reply = await server.engine.call(call, () => caller, { holdMs: 10_000 })
  if (reply.state !== 'complete') throw new Error(`${name} is ${reply.state}`)
}

/**
 * Sends one request after another on one connection. It sends the same bytes each time, so that the client allocates
 * almost nothing.
 */
async function overHttp(request: string, times: number): Promise<void> {
  const bytes = Buffer.from(request)
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  for (let sent = 0; sent < times; sent++) {
    socket.write(bytes)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    if (answer.toString('latin1', 9, 12) !== '200') throw new Error(answer.toString())
  }
  socket.destroy()
}

function post(path: string, body: object, headers: Record<string, string> = {}): string {
  const text = JSON.stringify(body)
  const lines = Object.entries({ 'Content-Type': 'application/json', 'Content-Length': text.length, ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}\r\n${text}`
}

const args = { a: 1, b: 2 }
const _meta = { [META.version]: STATELESS_VERSION, [META.capabilities]: {} }
const params = { name: 'Calculator_Add', arguments: args, _meta }
const mcpHeaders = {
  'MCP-Protocol-Version': STATELESS_VERSION,
  'Mcp-Method': 'tools/call',
  'Mcp-Name': 'Calculator_Add',
}

const SCENARIOS: Record<string, (times: number) => Promise<void>> = {
  async engine(times) {
    for (let made = 0; made < times; made++) await inProcess('v1:Calculator.Add')
  },
  async durable(times) {
    for (let made = 0; made < times; made += width) {
      await Promise.all(Array.from({ length: width }, () => inProcess('v1:Calculator.AddLater')))
    }
  },
  opencall: (times) => overHttp(post('/call', { op: 'v1:Calculator.Add', args }), times),
  mcp: (times) => overHttp(post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, mcpHeaders), times),
}

const collect = (globalThis as { gc?: (options?: { type: 'minor' }) => void }).gc
if (!collect) throw new Error('Run this with --expose-gc.')
const built: Record<string, number> = {}
const left: Record<string, number> = {}
for (const [name, run] of Object.entries(SCENARIOS)) {
  if (store !== undefined && name !== 'durable') continue
  await run(WARM_UP)
  for (let window = 0; window < WINDOWS; window++) {
    collect()
    const before = process.memoryUsage().heapUsed
    const perCall = () => Math.round((process.memoryUsage().heapUsed - before) / CALLS)
    await run(CALLS)
    built[name] = Math.min(built[name] ?? Number.POSITIVE_INFINITY, perCall())
    collect({ type: 'minor' })
    left[name] = Math.min(left[name] ?? Number.POSITIVE_INFINITY, perCall())
  }
}
await server.close(0)
rmSync(data, { recursive: true, force: true })
process.stdout.write(JSON.stringify({ built, left }))
