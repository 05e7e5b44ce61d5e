/** A generation whose calls are past their retention is dropped, and no call that still counts goes with it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idAt } from '../../../src/core/call/id-time.ts'
import type { Instance, Outcome } from '../../../src/core/call/instance.ts'
import { statesBefore } from '../../../src/core/call/state.ts'
import type { AuditEnding, Store } from '../../../src/core/ports/store.ts'
import { createAudit } from '../../../src/stores/postgres/audit.ts'
import { CallReads } from '../../../src/stores/postgres/calls/reads.ts'
import type { Session } from '../../../src/stores/postgres/connect/session.ts'
import { createExpiry } from '../../../src/stores/postgres/generations/expiry.ts'
import { Generations } from '../../../src/stores/postgres/generations/generations.ts'
import { USUAL_ROTATION } from '../../../src/stores/postgres/generations/rotation.ts'
import { tablesOf } from '../../../src/stores/postgres/tables.ts'
import type { Batches } from '../../../src/stores/postgres/writes/batches.ts'
import { createManualClock, type ManualClock } from '../../../src/testing/fakes/clock.ts'
import { sampleId, sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeWith, pooler, postgresServer, together } from '../../engines/engines.ts'
import { startPgBouncer } from '../../engines/pgbouncer.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { openSession } from './churn.ts'
import { createSchema, type Schema } from './schemas.ts'

/** No generation is small, so that none of its calls is removed one by one. */
const LARGE = { smallBytes: 0, minAgeMs: 0 }
const KEPT_MS = 100_000
const AUDIT: AuditEnding = { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' }
const CLAIM = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: 30_000 }

type RemoveObjects = Parameters<Store['expire']>[1]
const nothing: RemoveObjects = async () => {}

/** An ended call that is kept for some time. */
async function ended(
  store: Store,
  clock: ManualClock,
  keptMs: number,
  more: Partial<Instance> = {},
  outcome: Outcome = { kind: 'result', value: 1 },
): Promise<string> {
  const now = clock.now()
  const call = sampleInstance(now, { ...more, expiresAt: now + keptMs, keepUntil: now + keptMs })
  await store.accept(call)
  const end = { from: statesBefore('complete'), to: 'complete' as const, endedAt: now, audit: AUDIT }
  await store.advance({ id: call.id, ...end, outcome })
  return call.id
}

/** Nearly all calls are like the first one. The others need the node when their generation is retired. */
const LIKES: readonly [Partial<Instance>, Outcome?][] = [
  [{}],
  [{}],
  [{ args: { month: '\0' } }],
  [{}, { kind: 'location', location: { kind: 'chunks', mimeType: 'text/plain' } }],
]
const withObjects = (ids: readonly string[]) => ids.filter((_, at) => at % LIKES.length === LIKES.length - 1)

/** A generation of two hundred calls, of which a few must outlive it. It is closed, and its time is over. */
async function fill(store: Store, clock: ManualClock, round = 0) {
  const over = await Promise.all(
    Array.from({ length: 200 }, (_, at) => {
      const [more, outcome] = LIKES[at % LIKES.length] as (typeof LIKES)[number]
      return ended(store, clock, KEPT_MS, more, outcome)
    }),
  )
  const kept = await ended(store, clock, 10 * KEPT_MS, { requestId: `kept ${round}`, idempotencyKey: `key ${round}` })
  const queued = sampleInstance(clock.now(), { dueAt: clock.now(), expiresAt: clock.now() + 20 * KEPT_MS })
  await store.accept(queued)
  const owner = { tenant: 'main', owner: queued.owner }
  const alias = { ...owner, expiresAt: clock.now() + 10 * KEPT_MS }
  await store.alias({ ...alias, requestId: `again ${round}`, instanceId: kept })
  await store.alias({ ...alias, requestId: `over ${round}`, instanceId: over[0] as string })
  // More than a quarter of the time. The store looks once a minute.
  clock.advance(65_000)
  // Opens the next generation.
  await store.expire(10, nothing)
  // An alias of an older call is in the current generation.
  await store.alias({ ...alias, requestId: `late ${round}`, instanceId: over[1] as string })
  clock.advance(KEPT_MS)
  return { over, kept, queued: queued.id, owner: queued.owner, round }
}

/** As maintenance does it. */
async function expireAll(store: Pick<Store, 'expire'>, removeObjects: RemoveObjects = nothing): Promise<void> {
  let found: number
  do found = await store.expire(10, removeObjects)
  while (found >= 10)
}

async function expectOnlyTheRest(store: Store, filled: Awaited<ReturnType<typeof fill>>): Promise<void> {
  const { over, kept, queued, owner, round } = filled
  const taken = { kind: 'request-id-taken' }
  for (const id of over.slice(0, 3)) expect(await store.get(id)).toBe(undefined)
  expect(await store.get(kept)).toMatchObject({ id: kept, state: 'complete' })
  expect(await store.find('main', owner, `again ${round}`)).toMatchObject({ id: kept })
  expect(await store.find('main', owner, `over ${round}`)).toBe(undefined)
  expect(await store.accept(sampleInstance(store.now(), { requestId: `kept ${round}` }))).toMatchObject(taken)
  expect(await store.accept(sampleInstance(store.now(), { requestId: `again ${round}` }))).toMatchObject(taken)
  expect(await store.accept(sampleInstance(store.now(), { idempotencyKey: `key ${round}` }))).toMatchObject({
    kind: 'key-taken',
  })
  expect(await store.get(queued)).toMatchObject({ id: queued, state: 'accepted' })
  for (const requestId of [`over ${round}`, `late ${round}`]) {
    const again = await store.accept(sampleInstance(store.now(), { requestId, state: 'complete', keepUntil: 0 }))
    expect(again).toEqual({ kind: 'created' })
  }
}

describeWith(postgresServer, 'generations that are retired', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  const tables = async ({ name }: Schema) => {
    const found = await server.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = '${name}'::regnamespace AND relname ~ '^calls_[0-9]+$'`,
    )
    return found.map((row) => row.name).sort()
  }

  test('while a large generation is read, other calls past their retention are removed', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE })
    const { kept } = await fill(store, clock)
    await expireAll(store)
    // More slices than there are between two looks at other calls.
    await Promise.all(Array.from({ length: 1_200 }, () => ended(store, clock, KEPT_MS)))
    clock.advance(65_000)
    await store.expire(10, nothing)
    clock.advance(KEPT_MS)
    await store.expire(10, nothing)
    clock.advance(10 * KEPT_MS)
    for (let slices = 0; slices < 55; slices++) expect(await store.expire(10, nothing)).toBeGreaterThanOrEqual(10)
    expect(await store.get(kept)).toBe(undefined)
    const generation = `SELECT state FROM ${schema.name}.generations WHERE number = 2`
    expect(await server.query(generation)).toEqual([{ state: 'closed' }])
  })

  test('after a slice that failed, other calls past their retention are removed first', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE })
    const { kept } = await fill(store, clock)
    await expireAll(store)
    const [like, outcome] = LIKES.at(-1) as (typeof LIKES)[number]
    await Promise.all(Array.from({ length: 100 }, () => ended(store, clock, KEPT_MS, like, outcome)))
    clock.advance(65_000)
    await store.expire(10, nothing)
    clock.advance(KEPT_MS)
    await store.expire(10, nothing)
    clock.advance(10 * KEPT_MS)

    const failing = store.expire(10, () => Promise.reject(new Error('The objects cannot be reached.')))
    await expect(failing).rejects.toThrow('The objects cannot be reached.')
    await store.expire(10, nothing)

    expect(await store.get(kept)).toBe(undefined)
  })

  test('a call whose caller is missing is kept, and so are the calls after it', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE })
    const lost = await ended(store, clock, KEPT_MS, { owner: 'none|lost' })
    // More than a slice.
    await Promise.all(Array.from({ length: 300 }, () => ended(store, clock, KEPT_MS)))
    const kept = await ended(store, clock, 10 * KEPT_MS)
    clock.advance(65_000)
    await store.expire(10, nothing)
    clock.advance(KEPT_MS)
    // As after a failover to a standby that had the calls and not the caller.
    await server.query(
      `UPDATE ${schema.name}.calls_1 SET id = '00000000-0000-7000-8000-000000000001' WHERE id = '${lost}'`,
    )
    await server.query(
      `UPDATE ${schema.name}.calls_1 SET id = 'ffffffff-0000-7000-8000-000000000001' WHERE id = '${kept}'`,
    )
    await server.query(`DELETE FROM ${schema.name}.callers_1 WHERE owner = 'none|lost'`)

    await expireAll(store)

    const left = await server.query<{ id: string }>(`SELECT id FROM ${schema.name}.calls_kept ORDER BY id`)
    expect(left.map(({ id }) => id)).toEqual([
      '00000000-0000-7000-8000-000000000001',
      'ffffffff-0000-7000-8000-000000000001',
    ])
  })

  test('the calls of a generation go with it, apart from those that are open or kept for longer', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const options = { clock, serverTime: () => clock.now(), rotation: LARGE }
    const [store, other] = [await schema.open(options), await schema.open(options)]
    const filled = await fill(store, clock)
    const before = await store.audit.list({ tenant: 'main', limit: 500 })

    const removed: string[] = []
    await expireAll(store, async (ids) => void removed.push(...ids))

    expect(removed.sort()).toEqual(withObjects(filled.over).sort())
    await expectOnlyTheRest(store, filled)
    expect(await store.audit.list({ tenant: 'main', limit: 500 })).toEqual(before)
    expect(before.length).toBe(201)
    expect((await other.claim(CLAIM)).instances).toMatchObject([{ id: filled.queued, attempt: 1 }])
    const end = { id: filled.queued, from: statesBefore('complete'), to: 'complete' as const, attempt: 1 }
    expect(await other.advance({ ...end, keepUntil: clock.now() })).toMatchObject({ applied: true })
    clock.advance(10_000)
    await expireAll(store)
    expect(await tables(schema)).not.toContain('calls_1')
    expect(await store.get(filled.queued)).toBe(undefined)
    expect((await store.openCounts()).byOwner).toEqual([])
    clock.advance(10 * KEPT_MS)
    await expireAll(store)
    expect(await store.get(filled.kept)).toBe(undefined)
    expect(await server.query(`SELECT FROM ${schema.name}.calls_kept`)).toEqual([])
    expect(await server.query(`SELECT FROM ${schema.name}.callers_kept`)).toEqual([])
  }, 30_000)

  test('a generation stays while the objects of its calls cannot be removed', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE })
    const filled = await fill(store, clock)

    const failing = expireAll(store, async () => {
      throw new Error('The objects cannot be reached.')
    })

    await expect(failing).rejects.toThrow('The objects cannot be reached.')
    expect(await store.get(filled.over[0] as string)).toMatchObject({ state: 'complete' })
    await expireAll(store)
    await expectOnlyTheRest(store, filled)
  }, 30_000)

  test('a generation with many calls that are kept for longer stays as it is', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE })
    const lasting = await Promise.all(Array.from({ length: 60 }, () => ended(store, clock, 10 * KEPT_MS)))
    await fill(store, clock)
    clock.advance(3 * KEPT_MS)
    await expireAll(store)
    expect(await tables(schema)).toContain('calls_1')

    clock.advance(10 * KEPT_MS)
    await expireAll(store)
    clock.advance(10_000)
    await expireAll(store)

    expect(await tables(schema)).not.toContain('calls_1')
    expect(await store.get(lasting[0] as string)).toBe(undefined)
  }, 30_000)

  test('a call that is kept for longer counts once, also after a quiet time', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE })
    // Of version 7, as those of real calls: nearly all of the time between the first and the last one is quiet.
    const idOf = (number: number) => idAt(clock.now()).slice(0, 14) + sampleId(number).slice(14)
    const over = await Promise.all(
      Array.from({ length: 100 }, (_, at) => ended(store, clock, KEPT_MS, { id: idOf(at), requestId: `over ${at}` })),
    )
    clock.advance(60_000)
    const kept = await ended(store, clock, 10 * KEPT_MS, { id: idOf(100), requestId: 'kept' })
    // Opens the next generation.
    await store.expire(10, nothing)
    clock.advance(KEPT_MS)

    await expireAll(store)

    expect(await store.get(over[0] as string)).toBe(undefined)
    expect(await store.get(kept)).toMatchObject({ id: kept, state: 'complete' })
  })

  test('a node that dies after any statement of a retirement leaves a store that goes on', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const options = { clock, serverTime: () => clock.now(), rotation: LARGE }
    const store = await schema.open(options)
    let statements = 0
    for (let round = 0; ; round++) {
      const filled = await fill(store, clock, round)
      await using dying = await openDying(server, schema.name, ++statements, () => clock.now())
      const rounds = async () => {
        // Smaller generations of earlier rounds may come first.
        for (let n = 0; n < 4; n++) await expireAll(dying)
      }
      const died = await rounds().then(
        () => false,
        () => true,
      )
      await dying[Symbol.asyncDispose]()

      // Rounds of maintenance: each finishes at most one generation.
      for (let n = 0; n < 6; n++) {
        clock.advance(15_000)
        await expireAll(store)
      }
      await expectOnlyTheRest(store, filled)
      const end = { id: filled.queued, from: statesBefore('complete'), to: 'complete' as const, keepUntil: clock.now() }
      expect(await store.advance(end)).toMatchObject({ applied: true })
      if (!died) break
    }
    // The end of the loop shows that every point was tried: a whole retirement takes this many statements.
    expect(statements).toBeGreaterThan(20)
    clock.advance(20 * KEPT_MS)
    await expireAll(store)
    clock.advance(20 * KEPT_MS)
    await expireAll(store)
    expect((await tables(schema)).length).toBeLessThan(4)
  }, 120_000)
})

describeWith(together(postgresServer, pooler), 'generations behind PgBouncer', () => {
  test('a node behind a pooler rotates and retires', async () => {
    await using server = await startPostgres()
    await using bouncer = await startPgBouncer(server)
    await using schema = createSchema(server)
    const clock = createManualClock()
    const urls = { url: bouncer.url, listenUrl: server.url }
    const store = await schema.open({ clock, serverTime: () => clock.now(), rotation: LARGE, ...urls })
    const filled = await fill(store, clock)

    await expireAll(store)

    await expectOnlyTheRest(store, filled)
  }, 60_000)
})

/** Removes calls as a node does, up to the given number of statements. Then its connection ends. */
async function openDying(server: Postgres, schema: string, statements: number, now: () => number) {
  const connection = await openSession(server)
  let left = statements
  const session: Session = {
    async query(what, values) {
      const answer = await connection.query(what, values)
      if (--left > 0) return answer as never
      connection.destroy()
      throw new Error('The node died.')
    },
  }
  const writes: Pick<Batches, 'add'> = {
    add: (shape, value) =>
      new Promise((done, fail) => shape.run(session, [{ value, uncertain: false, done, fail }]).catch(fail)),
  }
  const tables = tablesOf(schema)
  const generations = new Generations(tables)
  await generations.refresh(connection)
  const batches = writes as Batches
  const reads = new CallReads(tables, generations, batches, now)
  const audit = createAudit(tables, generations, batches, batches)
  const rules = { ...USUAL_ROTATION, ...LARGE }
  const expiry = createExpiry({ tables, generations, reads, writes, audit, rules, now, log: undefined })
  return { ...expiry, [Symbol.asyncDispose]: () => connection.close() }
}
