/** Calls that wait for a slot of their node are claimed when they are accepted, and given back if they wait for long. */
import { hash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instance } from '../../../src/core/call/instance.ts'
import { statesBefore } from '../../../src/core/call/state.ts'
import type { AcceptMore, Change, Claim, Store } from '../../../src/core/ports/store.ts'
import { listedOf, summaryOf } from '../../../src/engine/admin/calls/call-view.ts'
import { callChanged } from '../../../src/engine/changes/change.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { createManualClock, type ManualClock } from '../../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import { createSchema, type Schema } from './schemas.ts'

const CLAIM: Claim = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: 30_000 }
const HERE = { leaseAheadMs: 30_000 }
/** Longer than a call waits without a row, and than a look into the queue counts. */
const LONG_MS = 300

const ending = (id: string, clock: ManualClock): Change => ({
  id,
  from: statesBefore('complete'),
  to: 'complete',
  outcome: { kind: 'result', value: 1 },
  endedAt: clock.now(),
})

describeWith(postgresServer, 'calls that wait at their node', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  async function openTwo(schema: Schema): Promise<{ clock: ManualClock; here: Store; there: Store }> {
    const clock = createManualClock()
    const open = () => schema.open({ clock, serverTime: () => clock.now() })
    return { clock, here: await open(), there: await open() }
  }
  const accept = async (store: Store, clock: ManualClock, more?: AcceptMore) => {
    const call = sampleInstance(clock.now(), { dueAt: clock.now() })
    await store.accept(call, more)
    return call.id
  }
  const acceptHere = (store: Store, clock: ManualClock) => accept(store, clock, HERE)
  const rowsIn = async ({ name }: Schema) => (await server.query<{ id: string }>(`SELECT id FROM ${name}.due`)).length
  const idsOf = ({ instances }: { instances: readonly Instance[] }) => instances.map(({ id }) => id)
  const woken = (store: Store) => new Promise<void>((resolve) => store.wakeUps?.receive(resolve))

  test('its node claims such a call, and no row is ever written for it', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const id = await acceptHere(here, clock)

    expect(await rowsIn(schema)).toBe(0)
    expect(await here.openCounts()).toMatchObject({ queued: 1 })
    expect(await there.get(id)).toMatchObject({ state: 'accepted', attempt: 1, settled: 0 })
    expect(idsOf(await there.claim(CLAIM))).toEqual([])
    const { instances } = await here.claim(CLAIM)

    expect(instances).toMatchObject([{ id, attempt: 1, state: 'pending', args: { month: '2026-01' } }])
    expect(await rowsIn(schema)).toBe(0)
    expect(await here.openCounts()).toMatchObject({ queued: 0 })
    expect(idsOf(await here.claim(CLAIM))).toEqual([])
  })

  test('its end says when it began, and so does its row if it runs for long', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const [short, long] = [await acceptHere(here, clock), await acceptHere(here, clock)]
    clock.advance(40)
    const begunAt = clock.now()
    expect(idsOf(await here.claim(CLAIM))).toEqual([short, long])

    await here.advance({ ...ending(short, clock), attempt: 1 })
    expect(await there.calls.attempts(short)).toEqual({ past: [], startedAt: begunAt })
    expect(await there.get(long)).toMatchObject({ state: 'accepted' })
    clock.advance(100)
    clock.advance(100)
    await expect.poll(() => there.get(long)).toMatchObject({ state: 'pending', attempt: 1, revision: 2 })

    expect(await there.calls.attempts(long)).toEqual({ past: [], startedAt: begunAt })
    expect(await here.advance({ ...ending(long, clock), attempt: 1 })).toMatchObject({ applied: true })
    expect(await there.calls.attempts(long)).toEqual({ past: [], startedAt: begunAt })
  })

  test('its node says that it runs as soon as it does', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    const { requestId, tenant, owner, id } = sampleInstance(clock.now(), { dueAt: clock.now() })
    await here.accept(sampleInstance(clock.now(), { id, requestId, tenant, owner, dueAt: clock.now() }), HERE)
    expect(await here.get(id)).toMatchObject({ state: 'accepted' })
    await here.claim(CLAIM)

    expect(await here.find(tenant, owner, requestId)).toMatchObject({ state: 'pending', attempt: 1 })
    expect(await here.get(id)).toMatchObject({ state: 'pending', attempt: 1 })
  })

  test('operators see it as a call that was not started', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const id = await acceptHere(here, clock)
    const started = { tenant: 'main', filter: { minStarts: 1 }, limit: 9, scan: 99 }
    const waiting = (await there.get(id)) as Instance

    expect(summaryOf({ redact: (text) => text }, listedOf(waiting))).toMatchObject({ state: 'accepted', attempts: 0 })
    expect(callChanged(waiting, clock.now())).toMatchObject({ state: 'accepted', starts: 0 })
    expect(await there.calls.page(started)).toMatchObject({ calls: [] })
    await here.claim(CLAIM)
    await here.get(id)

    expect(await there.calls.page(started)).toMatchObject({ calls: [{ id }] })
  })

  test('its node finds it by a further request id as it was asked for', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    const call = sampleInstance(clock.now(), { dueAt: clock.now() })
    const { id: instanceId, tenant, owner, expiresAt } = call
    await here.accept(call, HERE)
    await here.alias({ instanceId, tenant, owner, requestId: 'again', expiresAt })
    await here.claim(CLAIM)

    expect(await here.find(tenant, owner, 'again')).toMatchObject({ requestId: 'again', state: 'pending' })
  })

  test('its end says when it began, also if it is written with records or read meanwhile', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const [read, changed, announced] = [
      await acceptHere(here, clock),
      await acceptHere(here, clock),
      await acceptHere(here, clock),
    ]
    clock.advance(40)
    const startedAt = clock.now()
    expect(idsOf(await here.claim(CLAIM))).toHaveLength(3)
    await there.tell(changed)
    clock.advance(10)
    const end = (id: string, more: Partial<Change> = {}) => here.advance({ ...ending(id, clock), attempt: 1, ...more })

    await Promise.all([end(read), here.calls.attempts(read)])
    await end(changed)
    await end(announced, { records: [{ key: 'announcement', value: '1' }] })

    for (const id of [read, changed, announced]) expect(await there.calls.attempts(id)).toEqual({ past: [], startedAt })
  })

  test('a stop that its node has just heard of is not missed', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    // After this look, a call that waits here is claimed without another one.
    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    const id = await acceptHere(here, clock)
    const [first] = (await there.nodes?.()) ?? []
    const holder = new pg.Client({ connectionString: server.url })
    await holder.connect()
    await holder.query('BEGIN')
    await holder.query(`LOCK TABLE ${schema.name}.calls_1 IN ACCESS EXCLUSIVE MODE`)
    await holder.query(`UPDATE ${schema.name}.calls_1 SET stop_requested = true, revision = 2`)
    const channel = `callplane_${hash('sha256', schema.name, 'hex').slice(0, 8)}_${first?.node}`
    await server.query(`SELECT pg_notify('${channel}', '${id}')`)
    // Its node reads the call.
    const waiting = `SELECT FROM pg_stat_activity WHERE application_name = 'callplane' AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await server.query(waiting)).length).toBe(1)

    const told = woken(here)
    const before = idsOf(await here.claim(CLAIM))
    await holder.query('COMMIT')
    await holder.end()
    expect(before).toEqual([])
    await told

    expect((await here.claim(CLAIM)).instances).toMatchObject([{ id, stopRequested: true }])
  })

  test('a call whose claim took nearly its lease says so, because its node renews an old lease', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const here = await schema.open({ clock, serverTime: () => clock.now() })
    const leasedUntil = clock.now() + CLAIM.leaseMs
    const waits = await acceptHere(here, clock)
    const inQueue = await accept(here, clock)
    const holder = new pg.Client({ connectionString: server.url })
    await holder.connect()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM ${schema.name}.due FOR UPDATE`)
    const claiming = here.claim(CLAIM)
    const waiting = `FROM pg_stat_activity WHERE application_name = 'callplane' AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await server.query(`SELECT ${waiting}`)).length).toBe(1)

    clock.advance(29_000)
    await server.query(`SELECT pg_terminate_backend(pid) ${waiting}`)
    await holder.query('ROLLBACK')
    await holder.end()

    const { instances } = await claiming
    expect(instances).toMatchObject([
      { id: waits, attempt: 1, dueAt: leasedUntil },
      { id: inQueue, attempt: 1 },
    ])
  })

  test('a call that is not due waits for its time in the queue', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    await here.accept(sampleInstance(clock.now()), HERE)
    await here.accept(sampleInstance(clock.now(), { dueAt: clock.now() + 1_000 }), HERE)

    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    expect(await rowsIn(schema)).toBe(2)
  })

  test('after a quarter of a second any node may claim it, and the others are told', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const told = woken(there)
    const id = await acceptHere(here, clock)

    clock.advance(LONG_MS)
    await told

    expect(await here.openCounts()).toMatchObject({ queued: 1 })
    const { instances } = await there.claim(CLAIM)
    expect(instances).toMatchObject([{ id, state: 'pending', attempt: 2, settled: 1, extras: { unbegun: 1 } }])
    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    expect(await there.calls.attempts(id)).toEqual({ past: [], startedAt: clock.now() })
  })

  test('a node that stops offers its calls at once', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const told = woken(there)
    const id = await acceptHere(here, clock)

    here.wakeUps?.send()
    await told

    expect(idsOf(await there.claim(CLAIM))).toEqual([id])
  })

  test('the calls of a node that dies are claimed by another', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const id = await acceptHere(here, clock)

    const [first] = (await there.nodes?.()) ?? []
    await there.nodeEnds?.ended(first?.node as number)

    expect((await there.claim(CLAIM)).instances).toMatchObject([{ id, attempt: 2, settled: 0 }])
  })

  test('a node that was taken for dead claims its own calls once, under its new number', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const [first] = (await there.nodes?.()) ?? []
    const id = await acceptHere(here, clock)
    await there.nodeEnds?.ended(first?.node as number)
    expect(await rowsIn(schema)).toBe(1)

    expect(idsOf(await here.claim(CLAIM))).toEqual([id])
    expect(idsOf(await there.claim(CLAIM))).toEqual([])
    expect(await here.nodes?.()).toHaveLength(2)
  })

  test('a node that was taken for dead cannot end a call that another has claimed since', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const [first] = (await there.nodes?.()) ?? []
    const id = await acceptHere(here, clock)
    expect((await here.claim(CLAIM)).instances).toMatchObject([{ id, attempt: 1 }])

    await there.nodeEnds?.ended(first?.node as number)
    expect((await there.claim(CLAIM)).instances).toMatchObject([{ id, attempt: 2 }])

    expect(await here.advance({ ...ending(id, clock), attempt: 1 })).toMatchObject({ applied: false })
    expect(await there.advance({ ...ending(id, clock), attempt: 2 })).toMatchObject({ applied: true })
  })

  test('a call that is to stop is handed out without a slot', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    for (const store of [here, there]) {
      const id = await acceptHere(here, clock)
      const told = woken(here)
      await store.requestStop(id)
      await told

      const { instances } = await here.claim({ ...CLAIM, onlyChildren: true })

      expect(instances).toMatchObject([{ id, attempt: 1, stopRequested: true }])
    }
  })

  test('a call that another node has ended is not begun', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const id = await acceptHere(here, clock)
    await there.advance(ending(id, clock))
    await expect.poll(() => here.openCounts()).toMatchObject({ queued: 0 })

    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    expect(await rowsIn(schema)).toBe(0)
  })

  test('a call whose lease is nearly over is given back and not begun', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const dueAt = clock.now() - 100
    const call = sampleInstance(clock.now(), { dueAt })
    await here.accept(call, { leaseAheadMs: 150 })
    const short = { ...CLAIM, leaseMs: 150 }

    expect(idsOf(await here.claim(short))).toEqual([])
    await expect.poll(() => rowsIn(schema)).toBe(1)

    expect((await there.claim(short)).instances).toMatchObject([{ id: call.id, attempt: 2, settled: 1 }])
  })

  test('calls that wait here and calls in the queue are handed out in the order in which they became due', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const order: string[] = []
    // Also after a look that found the queue empty, which counts for a moment.
    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    for (const store of [here, there, here, there]) {
      order.push(await accept(store, clock, store === here ? HERE : undefined))
      clock.advance(1)
    }
    clock.advance(110)

    expect(idsOf(await here.claim({ ...CLAIM, limit: 3 }))).toEqual(order.slice(0, 3))
    expect(idsOf(await here.claim(CLAIM))).toEqual(order.slice(3))
  })

  test('a call that becomes due by a write of this node is not overlooked because others wait here', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    const again = sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + 30_000 })
    await here.accept(again)
    await here.advance({ id: again.id, from: ['pending'], to: 'pending', attempt: 1, settled: 1, dueAt: clock.now() })
    clock.advance(1)
    const later = await acceptHere(here, clock)

    expect(idsOf(await here.claim(CLAIM))).toEqual([again.id, later])
  })

  test('a new call gets its row at once behind a call that has waited in the queue for long, and only then', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const one = { ...CLAIM, limit: 1 }
    for (let n = 0; n < 3; n++) await accept(there, clock)
    expect(idsOf(await here.claim(one))).toHaveLength(1)

    await acceptHere(here, clock)
    expect(await rowsIn(schema)).toBe(2)
    clock.advance(LONG_MS)
    await expect.poll(() => rowsIn(schema)).toBe(3)
    expect(idsOf(await here.claim(one))).toHaveLength(1)

    await acceptHere(here, clock)
    expect(await rowsIn(schema)).toBe(3)
    expect(idsOf(await here.claim({ ...CLAIM, limit: 2 }))).toHaveLength(2)
    // The last one is young.
    expect(idsOf(await here.claim({ ...CLAIM, limit: 0 }))).toEqual([])
    await acceptHere(here, clock)
    expect(await rowsIn(schema)).toBe(1)
  })

  test('a claim whose answer is lost gives each call to one claim', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const here = await schema.open({ clock, serverTime: () => clock.now() })
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push(await acceptHere(here, clock))
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'callplane'`

    const claiming = here.claim(CLAIM).catch(() => ({ instances: [] }))
    await server.query(cut)
    const claimed = idsOf(await claiming)
    for (let round = 0; claimed.length < ids.length && round < 100; round++) {
      clock.advance(LONG_MS)
      claimed.push(...idsOf(await here.claim(CLAIM).catch(() => ({ instances: [] }))))
    }

    expect(claimed.sort()).toEqual(ids.sort())
  })

  test('a call whose acceptance got no answer is claimed as any other', async () => {
    await using schema = createSchema(server)
    await using proxy = await startLossyProxy(server)
    const store = await schema.open({ clock: systemClock, url: proxy.url })
    expect(idsOf(await store.claim(CLAIM))).toEqual([])
    proxy.loseEvery(3)
    const ids: string[] = []
    for (let n = 0; n < 10; n++) {
      const call = sampleInstance(store.now(), { dueAt: store.now() })
      expect(await store.accept(call, HERE)).toEqual({ kind: 'created' })
      ids.push(call.id)
    }
    proxy.loseEvery(Number.POSITIVE_INFINITY)
    expect(proxy.lost).toBeGreaterThan(0)

    const claimed = [...idsOf(await store.claim(CLAIM)), ...idsOf(await store.claim(CLAIM))]

    expect(claimed.sort()).toEqual(ids.sort())
  })

  test('another node does not count the same call in the queue and at its node', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    clock.advance(2_400)
    for (let n = 0; n < 20; n++) await acceptHere(here, clock)

    // Its beat, and then the rows.
    clock.advance(100)
    await here.nodes?.()
    clock.advance(200)
    await expect.poll(() => rowsIn(schema)).toBe(20)

    expect(await there.openCounts()).toMatchObject({ queued: 20 })
  })

  test('a call in the queue is claimed when it becomes due, also if others wait here', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    const soon = sampleInstance(clock.now(), { dueAt: clock.now() + 30 })
    await here.accept(soon)
    expect(await here.claim(CLAIM)).toMatchObject({ instances: [], nextDueAt: soon.dueAt })
    await acceptHere(here, clock)

    expect(await here.claim({ ...CLAIM, limit: 1 })).toMatchObject({ instances: [{}], askAgainAt: soon.dueAt })
    clock.advance(31)

    expect(idsOf(await here.claim(CLAIM))).toEqual([soon.id])
  })

  test('a bounded number of calls waits here, however many come at once', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)

    await Promise.all(Array.from({ length: 1_500 }, () => acceptHere(here, clock)))

    expect(await rowsIn(schema)).toBe(1_500 - 512)
  })

  test('a call that a claim has taken is handed out, although a later statement of the claim fails', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const [open, inQueue] = [await acceptHere(here, clock), await accept(there, clock)]
    const holder = new pg.Client({ connectionString: server.url })
    await holder.connect()
    await holder.query('BEGIN')
    // The claim takes one call, and then waits for the row of the other.
    await holder.query(`SELECT FROM ${schema.name}.due FOR UPDATE`)
    const claiming = here.claim(CLAIM)
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'callplane' AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await server.query(cut)).length).toBeGreaterThan(0)
    await holder.query('ROLLBACK')
    await holder.end()

    expect(idsOf(await claiming)).toEqual([open, inQueue])
  })

  test('a call that has ended here no longer waits here', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    expect(idsOf(await here.claim(CLAIM))).toEqual([])
    for (let n = 0; n < 20; n++) await here.advance(ending(await acceptHere(here, clock), clock))
    clock.advance(1)
    const open = await acceptHere(here, clock)

    expect(idsOf(await here.claim({ ...CLAIM, limit: 1 }))).toEqual([open])
  })

  test('a call whose generation is emptied meanwhile is claimed where it is', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const rotation = { minAgeMs: 20, smallAgeMs: 20, largeBytes: 1 }
    const here = await schema.open({ clock, serverTime: () => clock.now(), rotation, peers: false })
    const id = await acceptHere(here, clock)
    for (let n = 0; n < 5; n++) {
      clock.advance(30)
      await here.expire(10, async () => {})
    }
    expect(await server.query(`SELECT FROM ${schema.name}.calls_kept WHERE id = '${id}'`)).toHaveLength(1)

    expect(idsOf(await here.claim(CLAIM))).toEqual([id])
    expect(await here.get(id)).toMatchObject({ state: 'pending' })
    expect(await here.advance({ ...ending(id, clock), attempt: 1 })).toMatchObject({ applied: true })
  })

  test('large arguments are not kept in memory', async () => {
    await using schema = createSchema(server)
    const { clock, here } = await openTwo(schema)
    const args = { text: 'x'.repeat(3_000) }

    await here.accept(sampleInstance(clock.now(), { dueAt: clock.now(), args }), HERE)

    expect(await rowsIn(schema)).toBe(1)
    expect((await here.claim(CLAIM)).instances).toMatchObject([{ attempt: 1, args }])
  })

  test('a node that closes gives back its calls', async () => {
    await using schema = createSchema(server)
    const { clock, here, there } = await openTwo(schema)
    const id = await acceptHere(here, clock)

    await here.close()

    expect((await there.claim(CLAIM)).instances).toMatchObject([{ id, settled: 1 }])
  })
})
