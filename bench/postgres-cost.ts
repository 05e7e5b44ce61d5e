/**
 * The log and the server CPU of one durable call in the Postgres store: `accept` and `advance`, 64 submitters.
 * `node --conditions=callplane-source bench/postgres-cost.ts [calls] [stored]`. `stored` calls are put into four
 * older generations first. docs/decisions/0019-generations.md has the figures.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { statesBefore } from '../src/core/call/state.ts'
import { createRedactor } from '../src/security/redaction/redaction.ts'
import { createEnvironment, systemClock } from '../src/server/build/environment.ts'
import { openPostgresStore } from '../src/stores/postgres/index.ts'
import { sampleInstance } from '../src/testing/fakes/instances.ts'
import { createMemoryLog } from '../src/testing/fakes/memory-log.ts'
import { startPostgres } from '../test/engines/postgres.ts'

const [calls = 30_000, stored = 0] = process.argv.slice(2).map(Number)
const SUBMITTERS = 64
const ROUNDS = 3
const OLDER = 4

const settings = { fsync: 'on', shared_buffers: '1GB', max_wal_size: '16GB', checkpoint_timeout: '30min' }
await using server = await startPostgres({ settings })
const open = () => openPostgresStore({ url: server.url, schema: 'cost', clock: systemClock })
const { newCallId } = createEnvironment(
  createMemoryLog([]),
  { current: new Uint8Array(32) },
  systemClock,
  createRedactor(),
)

if (stored > 0) {
  await (await open()).close()
  for (let generation = 1; generation <= OLDER; generation++) await fill(generation)
}
const store = await open()
await submit(5_000)
for (let round = 0; round < ROUNDS; round++) {
  await server.query('CHECKPOINT')
  await submit(3_000)
  const [log, cpu, startedMs] = [await written(), serverCpu(), performance.now()]
  const waits = await submit(calls)
  const seconds = (performance.now() - startedMs) / 1_000
  const p99 = waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0
  console.log(
    `${Math.round(calls / seconds)} calls/s, p99 ${p99.toFixed(1)} ms, log ${Math.round(((await written()) - log) / calls)} B,`,
    `server CPU ${((serverCpu() - cpu) / calls).toFixed(1)} µs a call`,
  )
}
await store.close()

/** The time of each call, in milliseconds. */
async function submit(count: number): Promise<number[]> {
  let left = count
  const waits: number[] = []
  const one = async () => {
    while (left-- > 0) {
      const startedMs = performance.now()
      const now = store.now()
      const lease = { state: 'pending' as const, attempt: 1, dueAt: now + 30_000 }
      const { fingerprint: _, ...call } = sampleInstance(now, { id: newCallId('main', 'none|ada'), ...lease })
      await store.accept(call)
      await store.advance({
        id: call.id,
        from: statesBefore('complete'),
        to: 'complete',
        attempt: 1,
        outcome: { kind: 'result', value: { rows: 1 } },
        endedAt: store.now(),
        audit: { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' },
      })
      waits.push(performance.now() - startedMs)
    }
  }
  await Promise.all(Array.from({ length: SUBMITTERS }, one))
  return waits
}

/** Ended calls of a closed generation, and the next generation after it. */
async function fill(generation: number): Promise<void> {
  const next = generation + 1
  await server.query(`INSERT INTO cost.callers_${generation}
    VALUES ('00000000-0000-0000-0000-000000000001', 'main', 'none|ada', '{}')`)
  await server.query(`INSERT INTO cost.calls_${generation} (id, request_key, caller, created_at, child, request_id, operation,
      args, expires_at, keep_until, attempt, settled, failures, stop_requested, told, held, state, revision, ended_at,
      outcome, audit)
    SELECT (lpad(to_hex(1700000000000 + n), 12, '0') || '70008000000000000000')::uuid, gen_random_uuid(),
      '00000000-0000-0000-0000-000000000001', 1700000000000 + n, false, gen_random_uuid()::text,
      'v1:reports.generate@1.0.0', '{"month":"2026-01"}', 9e15, 9e15, 1, 0, 0, false, false, false, 'c', 2, 1700000000000,
      '{"kind":"result","value":{"rows":1}}', '{}' FROM generate_series(1, ${Math.round(stored / OLDER)}) n`)
  await server.query(`CREATE TABLE cost.calls_${next} (LIKE cost.calls_shape INCLUDING ALL) WITH (fillfactor = 50)`)
  await server.query(`CREATE TABLE cost.callers_${next} (LIKE cost.callers_shape INCLUDING ALL)`)
  await server.query(`UPDATE cost.generations SET state = 'closed' WHERE number = ${generation}`)
  const openedAt = next > OLDER ? Date.now() : 1_700_000_000_000
  await server.query(`INSERT INTO cost.generations VALUES (${next}, 'current', ${openedAt}, ${openedAt})`)
  await server.query(`VACUUM ANALYZE cost.calls_${generation}`)
}

async function written(): Promise<number> {
  const [row] = await server.query<{ bytes: string }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text AS bytes",
  )
  return Number(row?.bytes)
}

/** Of all processes of the server, in microseconds. */
function serverCpu(): number {
  const [main] = readFileSync(join(server.folder, 'postmaster.pid'), 'utf8').split('\n')
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
      const fields = rest.split(' ')
      if (pid !== main && fields[1] !== main) continue
      ticks += [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
    } catch {
      // The process has ended.
    }
  }
  return ticks * 10_000
}
