/**
 * Counts the heap bytes of one call, with enough memory that no garbage collection runs. The count is the same on every
 * machine and grows with every object built for a call. allocations.test.ts runs it in a separate process.
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
const CALLS = 4_000

/** An extra allocation for each call, to show that the count detects it. */
const wasteBytes = Number(process.argv[2] ?? 0)
const wasted: number[][] = []

function run({ a, b }: { a: number; b: number }): number {
  if (wasteBytes > 0) wasted[0] = Array.from({ length: wasteBytes / 8 }, () => a + 0.5)
  return a + b
}

const shape = { args: z.object({ a: z.number(), b: z.number() }), result: z.number() }
const add = operation('v1:Calculator.Add', { ...shape, run })
const addLater = operation('v1:Calculator.AddLater', { ...shape, model: 'async', run })

const data = mkdtempSync(join(tmpdir(), 'callplane-allocations-'))
const server = await createServer({ operations: [add, addLater], data })
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
    for (let made = 0; made < times; made += 50) {
      await Promise.all(Array.from({ length: 50 }, () => inProcess('v1:Calculator.AddLater')))
    }
  },
  opencall: (times) => overHttp(post('/call', { op: 'v1:Calculator.Add', args }), times),
  mcp: (times) => overHttp(post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, mcpHeaders), times),
}

const collect = (globalThis as { gc?: () => void }).gc
if (!collect) throw new Error('Run this with --expose-gc.')
const bytes: Record<string, number> = {}
for (const [name, run] of Object.entries(SCENARIOS)) {
  await run(WARM_UP)
  collect()
  const before = process.memoryUsage().heapUsed
  await run(CALLS)
  bytes[name] = Math.round((process.memoryUsage().heapUsed - before) / CALLS)
}
await server.close(0)
rmSync(data, { recursive: true, force: true })
process.stdout.write(JSON.stringify(bytes))
