/** New generations open while nodes accept, find, run and end calls. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Store } from '../../../src/core/ports/store.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { statement } from '../../../src/stores/postgres/connect/session.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeStore } from '../../../src/testing/suites/store/store.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { amid, openChurn, openSession } from './churn.ts'
import { createSchema } from './schemas.ts'

const LEASE = { state: 'pending' as const, attempt: 1 }

describeWith(postgresServer, 'generations of calls in Postgres', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  // An id is unique within its generation. Only a broken source of ids could repeat one hours later.
  const ofOneGeneration = ['a failed write does not affect', 'a failed write in the same commit']
  const testOthers = (title: string, body: () => Promise<void>) => {
    if (!ofOneGeneration.some((start) => title.startsWith(start))) test(title, body)
  }

  describeStore({ describe, test: testOthers, expect }, 'a store whose generations pass between requests', async () => {
    const clock = createManualClock()
    const schema = createSchema(server)
    const store = await schema.open({ clock, serverTime: () => clock.now() })
    const churn = await openChurn(server, schema.name, () => clock.now())
    const cleanup = async () => {
      await churn[Symbol.asyncDispose]()
      await schema[Symbol.asyncDispose]()
    }
    return { store: amid(churn, store, 2), clock, cleanup }
  })

  test('of three nodes that accept the same keys during rotations, one accepts each', async () => {
    await using schema = createSchema(server)
    const nodes: Store[] = []
    while (nodes.length < 3) nodes.push(await schema.open({ clock: systemClock }))
    await using churn = await openChurn(server, schema.name, () => nodes[0]?.now() ?? 0)
    const rotations = 10
    let isOver = false
    let keys = 0
    const accepted: string[] = []
    const race = async () => {
      while (!isOver) {
        const requestId = `r${keys++}`
        const answers = await Promise.all(
          nodes.map((node) =>
            node.accept(sampleInstance(node.now(), { requestId, ...LEASE, dueAt: node.now() + 30_000 })),
          ),
        )
        accepted.push(...answers.filter(({ kind }) => kind === 'created').map(() => requestId))
      }
    }

    const racing = Promise.all(Array.from({ length: 48 }, race))
    for (let n = 0; n < rotations; n++) await churn.rotate()
    isOver = true
    await racing

    expect(accepted.length).toBe(keys)
    expect(new Set(accepted).size).toBe(keys)
    const [list] = await server.query(`SELECT max(number)::int AS newest FROM ${schema.name}.generations`)
    expect(list).toEqual({ newest: rotations + 1 })
  }, 60_000)

  test('a rotation waits for an accept under way, so that no other node accepts the same key meanwhile', async () => {
    await using schema = createSchema(server)
    const [slow, quick] = [await schema.open({ clock: systemClock }), await schema.open({ clock: systemClock })]
    await using churn = await openChurn(server, schema.name, () => slow.now())
    const waitingFor = async (text: string) => {
      const query = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '${text}%'`
      while ((await server.query(query)).length === 0);
    }
    // The first accept has inserted its call, and waits for this record before it commits.
    await slow.records.put('gate', 'x')
    const gate = await openSession(server)
    await gate.query(statement('BEGIN'))
    await gate.query(statement(`SELECT FROM ${schema.name}.records WHERE key = 'gate' FOR UPDATE`))
    const first = slow.accept(sampleInstance(slow.now(), { requestId: 'r1' }), {
      records: [{ key: 'gate', value: 'y' }],
    })
    await waitingFor('INSERT INTO "test')

    const rotating = churn.rotate()
    await Promise.race([rotating, waitingFor('LOCK TABLE')])
    const second = quick.accept(sampleInstance(quick.now(), { requestId: 'r1' }))
    await Promise.race([second, waitingFor('WITH new')])
    await gate.close()

    expect([(await first).kind, (await second).kind]).toEqual(['created', 'request-id-taken'])
    await rotating
  })

  test('a node that has not heard of a rotation finds calls of the new generation', async () => {
    await using schema = createSchema(server)
    const [clock, still] = [createManualClock(), createManualClock()]
    const serverTime = () => clock.now()
    // The clock of this node stands still, and so do its beats.
    const unaware = await schema.open({ clock: still, serverTime })
    const aware = await schema.open({ clock, serverTime })
    await using churn = await openChurn(server, schema.name, () => clock.now())

    await churn.rotate()
    const call = sampleInstance(clock.now(), { requestId: 'r1', idempotencyKey: 'k1', dueAt: clock.now() })
    await aware.accept(call)

    expect(await unaware.get(call.id)).toEqual(call)
    expect(await unaware.find('main', call.owner, 'r1')).toEqual(call)
    expect(await unaware.accept(sampleInstance(clock.now(), { requestId: 'r1' }))).toMatchObject({
      kind: 'request-id-taken',
    })
    expect(await unaware.accept(sampleInstance(clock.now(), { idempotencyKey: 'k1' }))).toMatchObject({
      kind: 'key-taken',
    })
    const claimed = await unaware.claim({ operations: [call.operation], limit: 9, leaseMs: 1_000 })
    expect(claimed.instances).toMatchObject([{ id: call.id, attempt: 1 }])
    await churn.rotate()
    const renewal = await unaware.extend([{ id: call.id, attempt: 1 }], 5_000)
    expect(renewal).toMatchObject([{ held: true }])
  })

  test('of two reads at once on such a node, the one that hears later of the rotation finds its call, too', async () => {
    await using schema = createSchema(server)
    const [clock, still] = [createManualClock(), createManualClock()]
    const serverTime = () => clock.now()
    const unaware = await schema.open({ clock: still, serverTime })
    const aware = await schema.open({ clock, serverTime })
    await using churn = await openChurn(server, schema.name, () => clock.now())

    for (let round = 0; round < 5; round++) {
      await churn.rotate()
      const call = sampleInstance(clock.now(), { requestId: `r${round}`, dueAt: clock.now() })
      await aware.accept(call)
      // Reads of two kinds share no statement, and so each has a connection of its own.
      const reads = [unaware.get(call.id), unaware.find('main', call.owner, `r${round}`)]

      expect(await Promise.all(reads)).toEqual([call, call])
    }
  })

  test('a node that writes to a generation which another has dropped goes on in the new one', async () => {
    await using schema = createSchema(server)
    const [clock, still] = [createManualClock(), createManualClock()]
    const serverTime = () => clock.now()
    const unaware = await schema.open({ clock: still, serverTime })
    await using churn = await openChurn(server, schema.name, () => clock.now())
    const running = sampleInstance(clock.now(), { ...LEASE, dueAt: clock.now() + 30_000 })
    await unaware.accept(running)

    await churn.rotate()
    await churn.retire()

    expect(await server.query(`SELECT to_regclass('${schema.name}.calls_1') AS gone`)).toEqual([{ gone: null }])
    const end = { id: running.id, from: ['pending' as const], to: 'complete' as const, attempt: 1 }
    expect(await unaware.advance({ ...end, outcome: { kind: 'result', value: 1 } })).toMatchObject({ applied: true })
    expect(await unaware.get(running.id)).toMatchObject({ state: 'complete', revision: 2 })
    const next = sampleInstance(clock.now(), { ...LEASE, dueAt: clock.now() + 30_000 })
    expect(await unaware.accept(next)).toEqual({ kind: 'created' })
  })
})
