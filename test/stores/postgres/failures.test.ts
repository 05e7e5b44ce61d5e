/** Connections that end in the middle of statements, and a database that goes away and comes back. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instance } from '../../../src/core/call/instance.ts'
import { statesBefore } from '../../../src/core/call/state.ts'
import type { Change } from '../../../src/core/ports/store.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import { createSchema } from './schemas.ts'

const OUTCOME = { kind: 'result' as const, value: 1 }

function leased(now: number, changes: Partial<Instance> = {}): Instance {
  return sampleInstance(now, { state: 'pending', attempt: 1, dueAt: now + 30_000, ...changes })
}

function completing({ id }: Instance): Change {
  return { id, from: statesBefore('complete'), to: 'complete', attempt: 1, outcome: OUTCOME, endedAt: 1 }
}

describeWith(postgresServer, 'a Postgres store whose connections end', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  /** Ends all connections of stores after every so many steps, without waiting for it. */
  function createCutter(every: number) {
    const query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'callplane'"
    const cutting: Promise<{ length: number }>[] = []
    let steps = 0
    return {
      step() {
        if (++steps % every === 0) cutting.push(server.query(query))
      },
      cuts: async () => (await Promise.all(cutting)).reduce((sum, { length }) => sum + length, 0),
    }
  }

  test('every write is answered as if nothing had happened while connections are cut again and again', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock: systemClock })
    const cutter = createCutter(50)

    const kinds: string[] = []
    const applied: boolean[] = []
    const submit = async (from: number) => {
      for (let n = from; n < from + 60; n++) {
        const keyed = n % 3 === 0 ? { idempotencyKey: `k${n}` } : {}
        const instance = leased(store.now(), { requestId: `r${n}`, ...keyed })
        cutter.step()
        kinds.push((await store.accept(instance)).kind)
        if (n % 2 === 0) await store.progress({ id: instance.id, attempt: 1 }, { fraction: 0.5 })
        cutter.step()
        applied.push((await store.advance(completing(instance))).applied)
      }
    }
    await Promise.all(Array.from({ length: 16 }, (_, at) => submit(at * 60)))

    expect(await cutter.cuts()).toBeGreaterThan(10)
    expect(new Set(kinds)).toEqual(new Set(['created']))
    expect(new Set(applied)).toEqual(new Set([true]))
    const counts = await server.query(`SELECT count(*)::int AS calls, count(DISTINCT request_key)::int AS keys,
      count(*) FILTER (WHERE state = 'c')::int AS complete FROM ${schema.name}.calls_1`)
    expect(counts).toEqual([{ calls: 960, keys: 960, complete: 960 }])
  }, 60_000)

  test('calls that are claimed while connections are cut are handed out once', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock: systemClock })
    const calls = Array.from({ length: 200 }, () => sampleInstance(store.now(), { dueAt: store.now() }))
    await Promise.all(calls.map((call) => store.accept(call)))
    const cutter = createCutter(3)

    const handedOut: Instance[] = []
    while (handedOut.length < calls.length) {
      cutter.step()
      const { instances } = await store.claim({ operations: [calls[0]?.operation ?? ''], limit: 3, leaseMs: 30_000 })
      handedOut.push(...instances)
    }

    expect(await cutter.cuts()).toBeGreaterThan(10)
    expect(handedOut.map(({ id }) => id).sort()).toEqual(calls.map(({ id }) => id).sort())
    expect(new Set(handedOut.map(({ attempt }) => attempt))).toEqual(new Set([1]))
  }, 60_000)

  test('calls are accepted, claimed, answered and ended once although answers are lost after the commit', async () => {
    await using schema = createSchema(server)
    await using proxy = await startLossyProxy(server)
    const store = await schema.open({ clock: systemClock, url: proxy.url })
    proxy.loseEvery(5)
    const operations = [sampleInstance(0).operation]
    const submit = async (at: number) => {
      for (let n = 0; n < 20; n++) {
        const run = leased(store.now(), { requestId: `${at}-${n}` })
        expect(await store.accept(run)).toEqual({ kind: 'created' })
        const left: Change = { id: run.id, from: ['pending'], to: 'pending', attempt: 1, settled: 1, waiting: n }
        expect(await store.advance(left)).toMatchObject({ applied: true, instance: { waiting: n } })
        expect(await store.answer(run.id, n)).toMatchObject({ applied: true, instance: { answer: n } })
        expect(await store.advance(completing(run))).toMatchObject({ applied: true })
        const held = leased(store.now(), { requestId: `h${at}-${n}` })
        const records = [{ key: `held ${at}-${n}`, expected: null, value: 'x' }]
        expect(await store.accept(held, { records })).toEqual({ kind: 'created' })
        const gone = [{ key: `held ${at}-${n}`, expected: 'x' }]
        expect(await store.advance({ ...completing(held), records: gone })).toMatchObject({ applied: true })
        await store.accept(sampleInstance(store.now(), { requestId: `q${at}-${n}`, dueAt: store.now() }))
      }
    }

    await Promise.all([0, 1, 2, 3, 4, 5].map(submit))
    const handedOut: Instance[] = []
    while (handedOut.length < 120) {
      const { instances } = await store.claim({ operations, limit: 7, leaseMs: 600_000 })
      handedOut.push(...instances)
    }

    expect(proxy.lost).toBeGreaterThan(50)
    expect(new Set(handedOut.map(({ id }) => id)).size).toBe(120)
    expect(new Set(handedOut.map(({ attempt }) => attempt))).toEqual(new Set([1]))
    const counts = await server.query(
      `SELECT state, count(*)::int AS calls FROM ${schema.name}.calls_1 GROUP BY 1 ORDER BY 1`,
    )
    expect(counts).toEqual([
      { state: 'c', calls: 240 },
      { state: 'p', calls: 120 },
    ])
  }, 60_000)

  test('records change once although answers are lost after the commit', async () => {
    await using schema = createSchema(server)
    await using proxy = await startLossyProxy(server)
    const { records } = await schema.open({ clock: systemClock, url: proxy.url })
    // More than a transaction with its check needs, so that one gets through.
    proxy.loseEvery(9)

    await records.put('count', '0')
    for (let n = 0; n < 100; n++) {
      expect(await records.replace('count', String(n), String(n + 1))).toBe(true)
      expect(await records.add(`added/${n}`, 'x')).toBe(true)
      expect(
        await records.write([
          { key: `added/${n}`, expected: 'x', value: 'y' },
          { key: 'count', value: `${n + 1}` },
        ]),
      ).toBe(true)
    }

    expect(proxy.lost).toBeGreaterThan(20)
    expect(await records.get('count')).toBe('100')
  }, 60_000)

  test('without the database, writes are refused at once with a hint, and it goes on by itself when it is back', async () => {
    await using own = await startPostgres()
    await using schema = createSchema(own)
    const store = await schema.open({ clock: systemClock })
    const before = leased(store.now())
    await store.accept(before)

    await own.stop()
    const first = await store.accept(leased(store.now())).catch((fault) => fault)
    const atOnce = await store.accept(leased(store.now())).catch((fault) => fault)
    const reading = await store.get(before.id).catch((fault) => fault)

    for (const fault of [first, atOnce, reading])
      expect(fault).toMatchObject({ name: 'Fault', kind: 'unavailable', retryable: true, retryAfterMs: 2_000 })
    await own.restart()
    const after = leased(store.now())
    await untilCreated(() => store.accept(after))
    expect(await store.get(before.id)).toEqual(before)
    expect(await store.get(after.id)).toEqual(after)
  }, 60_000)

  test('a store cannot be opened while its database is away, and says where it looked', async () => {
    await using schema = createSchema(server)
    const url = 'postgres://someone@127.0.0.1:1/calls'

    const opening = schema.open({ clock: systemClock, url })

    await expect(opening).rejects.toMatchObject({ kind: 'unavailable', code: 'STORAGE_UNREACHABLE' })
    await expect(opening).rejects.toThrow('127.0.0.1:1/calls')
  })

  test('a list of hosts is searched for the primary', async () => {
    await using schema = createSchema(server)
    const url = server.url.replace('@127.0.0.1', '@127.0.0.1:1,127.0.0.1')

    const store = await schema.open({ clock: systemClock, url })

    expect(await store.get('any')).toBe(undefined)
  })
})

/** Tries again as a client does, while the store cannot be reached. */
async function untilCreated(accept: () => Promise<{ kind: string }>): Promise<void> {
  for (;;) {
    try {
      expect((await accept()).kind).toBe('created')
      return
    } catch (thrown) {
      expect(thrown).toMatchObject({ kind: 'unavailable' })
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
