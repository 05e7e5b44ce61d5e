/** What a page of `v1:callplane.calls.list` costs beside a million stored calls, with every kind of filter. */
import { join } from 'node:path'
import type { Caller } from '../../src/core/call/caller.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer, operation } from '../../src/index.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { CALLER } from '../contenders/growth-caller.ts'
import { quantile } from '../statistics.ts'
import { fillDatabase } from './growth-fill.ts'
import { type Filled, varyPostgres, varySqlite } from './lists-fill.ts'
import { multiplyCalls } from './postgres-fill.ts'
import { startServer } from './postgres-systems.ts'
import type { Findings, Goal, Row, Settings } from './suite.ts'

const SUITE = 'lists'
const GOAL_MS = 20
const DAY_MS = 86_400_000
const LIST = 'v1:callplane.calls.list'
const COUNT = 'v1:callplane.calls.count'

const clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  schedule(delayMs: number, run: () => void) {
    const timer = setTimeout(run, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

interface Page {
  name: string
  operation?: string
  args: object
  tenant?: string
}

function pagesOf({ middle, small }: Filled): Page[] {
  return [
    { name: 'the newest 50', args: { limit: 50 } },
    { name: 'the newest 200', args: { limit: 200 } },
    { name: '50 from the middle', args: { limit: 50, after: middle } },
    { name: 'failed', args: { state: ['error'] } },
    { name: 'by a code that 10 calls have', args: { code: 'RARE' } },
    { name: 'open', args: { state: ['accepted', 'pending'] } },
    { name: 'by an operation that no call has', args: { operation: 'v1:None.*' } },
    { name: 'by a session that no call has', args: { sessionId: 'none' } },
    { name: 'by a key and a duration', args: { key: 'none', minMs: 60_000 } },
    { name: 'by a text that no call has', args: { text: 'nowhere' } },
    { name: 'of a tenant with 1,000 calls', args: { limit: 50 }, tenant: small },
    { name: 'failed, of that tenant', args: { state: ['error'] }, tenant: small },
    { name: 'count by state', operation: COUNT, args: { by: 'state' } },
    { name: 'count of failed ones by code', operation: COUNT, args: { by: 'code', state: ['error'] } },
  ]
}

export async function lists(settings: Settings): Promise<Findings> {
  const findings: Findings = { rows: [], goals: [] }
  for (const measure of [onSqlite, onPostgres]) {
    const { rows, goals } = await measure(settings)
    findings.rows.push(...rows)
    findings.goals.push(...goals)
  }
  return findings
}

function sizeOf({ quick, trial }: Settings): number {
  return trial ? 10_000 : quick ? 100_000 : 1_000_000
}

async function onSqlite(settings: Settings): Promise<Findings> {
  const { folder, say } = settings
  const data = join(folder, 'lists-sqlite')
  say(`lists: storing ${sizeOf(settings).toLocaleString('en')} calls in SQLite`)
  await fillDatabase(data, { instances: sizeOf(settings), keepUntil: Date.now() + DAY_MS })
  const file = join(data, 'callplane.db')
  const filled = varySqlite(file)
  return measurePages(settings, 'SQLite', data, createSqliteStore({ file, clock }), filled, () => 0)
}

async function onPostgres(settings: Settings): Promise<Findings> {
  const { folder, say } = settings
  const server = await startServer(settings, ['lists'])
  if (!server) return { rows: [], goals: [] }
  try {
    say(`lists: storing ${sizeOf(settings).toLocaleString('en')} calls in Postgres`)
    const url = server.url('lists')
    const data = join(folder, 'lists-postgres')
    await makeSamples(url, data)
    await multiplyCalls({ url, calls: sizeOf(settings), keptForMs: DAY_MS })
    const filled = await varyPostgres(url)
    const store = await openPostgresStore({ url, clock, peers: false })
    return await measurePages(settings, server.build, data, store, filled, server.cpuUs)
  } finally {
    await server.stop()
  }
}

/** Some calls whose rows are multiplied. */
async function makeSamples(url: string, data: string): Promise<void> {
  const store = await openPostgresStore({ url, clock, peers: false })
  const add = operation('v1:Calculator.AddLater', { model: 'async', run: ({ a }) => a })
  const server = await createServer({ operations: [add], data, store, log: 'error' })
  for (let a = 0; a < 64; a++) {
    const call = { operation: 'v1:Calculator.AddLater', args: { a }, media: [], requestId: crypto.randomUUID() }
    await server.engine.call(call, () => CALLER, { holdMs: 60_000 })
  }
  await server.close(1_000)
  await store.close()
}

/** `engineUs`: CPU time of the database's own processes. It counts in steps of 10 ms, so it is read once for all pages. */
async function measurePages(
  { trial, say }: Settings,
  engine: string,
  data: string,
  store: Store,
  filled: Filled,
  engineUs: () => number,
): Promise<Findings> {
  const server = await createServer({ operations: [], data, store, log: 'error' })
  const rows: Row[] = []
  const goals: Goal[] = []
  const times = trial ? 3 : 100
  try {
    for (const page of pagesOf(filled)) {
      const read = () => readPage(server, page)
      for (let warmUp = 0; warmUp < Math.min(times, 20); warmUp++) await read()
      const own: number[] = []
      const engineBefore = engineUs()
      for (let round = 0; round < times; round++) {
        const before = process.cpuUsage()
        await read()
        const { user, system } = process.cpuUsage(before)
        own.push((user + system) / 1000)
      }
      const ofEngine = (engineUs() - engineBefore) / 1000 / times
      own.sort((a, b) => a - b)
      const p95 = quantile(own, 0.95) + ofEngine
      const cpuUs = (own.reduce((sum, ms) => sum + ms, 0) / times + ofEngine) * 1000
      say(`lists: ${engine}, ${page.name}: ${(cpuUs / 1000).toFixed(2)} ms, p95 ${p95.toFixed(2)} ms`)
      rows.push({ suite: SUITE, contender: page.name, engine, cpuUs, figures: { 'p95 of CPU, ms': p95 } })
      // A count looks at twice as many calls as a page.
      const most = page.operation === COUNT ? 2 * GOAL_MS : GOAL_MS
      goals.push({
        suite: SUITE,
        name: `${engine}: ${page.name}`,
        goal: `at most ${most} ms of CPU in 95 of 100 pages`,
        measured: `${p95.toFixed(1)} ms`,
        met: p95 <= most,
      })
    }
    return { rows, goals }
  } finally {
    await server.close(1_000)
    await store.close()
  }
}

type Server = Awaited<ReturnType<typeof createServer>>

async function readPage({ engine }: Server, { operation = LIST, args, tenant = 'main' }: Page): Promise<void> {
  const caller: Caller = { ...CALLER, tenant, scopes: ['callplane:read', 'callplane:payloads'] }
  const call = { operation, args: { ...args }, media: [], requestId: crypto.randomUUID() }
  const reply = await engine.call(call, () => caller, { holdMs: 60_000 })
  if (reply.state !== 'complete') throw new Error(`A page ended as ${JSON.stringify(reply)}.`)
}
