/** Several nodes on one database. */
import { hash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Instance } from '../../../src/core/call/instance.ts'
import { statesBefore } from '../../../src/core/call/state.ts'
import type { AuditEntry, Change, Store } from '../../../src/core/ports/store.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { knownSchema, readMigrations } from '../../../src/stores/postgres/sql/migrate.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { createSchema } from './schemas.ts'

const CLAIM = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: 30_000 }

const ENTRY: AuditEntry = {
  id: 'e1',
  tenant: 'main',
  owner: 'none|ada',
  requestId: 'r1',
  operation: 'v1:reports.generate@1.0.0',
  fingerprint: 'f1',
  verdict: 'allow',
  backend: 'handler',
  attempts: 1,
  outcome: 'complete',
  startedAt: 1,
  endedAt: 2,
}

const ending = ({ id }: Instance, attempt: number): Change => ({
  id,
  from: statesBefore('complete'),
  to: 'complete',
  attempt,
  outcome: { kind: 'result', value: 1 },
  endedAt: 1,
})

/** Resolves with the first instance that a watcher gets and that fits. */
function seen(store: Store, id: string, fits: (instance: Instance) => boolean): Promise<Instance> {
  return new Promise((resolve) => {
    const stop = store.watch(id, (instance) => {
      if (!fits(instance)) return
      stop()
      resolve(instance)
    })
  })
}

describeWith(postgresServer, 'nodes on one Postgres', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('a node asks the others for hints of a call that it watches, unless it has accepted the call', async () => {
    await using schema = createSchema(server)
    const clock = systemClock
    const [here, there] = [await schema.open({ clock }), await schema.open({ clock })]
    const listener = new pg.Client({ connectionString: server.url })
    await listener.connect()
    const lines: string[] = []
    listener.on('notification', ({ payload = '' }) => lines.push(...payload.split('\n')))
    await listener.query(`LISTEN callplane_${hash('sha256', schema.name, 'hex').slice(0, 8)}_all`)
    const [queued, early] = [sampleInstance(clock.now()), sampleInstance(clock.now())]
    await here.accept(queued)

    here.watch(queued.id, () => {})
    // As the engine does it: a call that is watched is accepted in the same turn.
    here.watch(early.id, () => {})
    await here.accept(early)
    const change = seen(there, queued.id, ({ state }) => state === 'complete')
    await expect.poll(() => lines.filter((line) => line.endsWith(queued.id)).length).toBe(1)
    await here.advance(ending(queued, 0))
    await change
    expect(lines.filter((line) => line.endsWith(early.id))).toEqual([])
    await listener.end()

    expect(lines.filter((line) => line.startsWith('+'))).toHaveLength(1)
  })

  test('many nodes that start at once on an empty database migrate it once', async () => {
    await using schema = createSchema(server)

    const nodes = await Promise.all(Array.from({ length: 5 }, () => schema.open({ clock: systemClock })))

    const instance = sampleInstance(nodes[0]?.now() ?? 0)
    expect(await nodes[0]?.accept(instance)).toEqual({ kind: 'created' })
    for (const node of nodes) expect(await node.get(instance.id)).toEqual(instance)
    const made = await server.query(`SELECT version FROM ${schema.name}.migrations ORDER BY 1`)
    expect(made).toEqual(readMigrations().map(({ version }) => ({ version })))
  })

  test('a node finds that its schema is not the one it knows, and that the clock was set back', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const time = { atMs: 1_700_000_000_000 }
    const node = await schema.open({ clock, serverTime: () => time.atMs })
    const fine = await node.troubles?.()

    await server.query(`UPDATE ${schema.name}.migrations SET needs = 99 WHERE version = ${knownSchema()}`)
    const newer = await node.troubles?.()
    await server.query(`DELETE FROM ${schema.name}.migrations WHERE version = ${knownSchema()}`)
    const older = await node.troubles?.()
    time.atMs -= 3_600_000
    clock.advance(5_000)
    await expect.poll(() => node.troubles?.()).toEqual(['migrations-pending', 'clock-jumped'])

    expect([fine, newer, older]).toEqual([[], ['schema-newer'], ['migrations-pending']])
  })

  test('a watcher hears of changes on other nodes: on the node that accepted the call, and on any other', async () => {
    await using schema = createSchema(server)
    const [accepting, running, third] = [
      await schema.open({ clock: systemClock }),
      await schema.open({ clock: systemClock }),
      await schema.open({ clock: systemClock }),
    ]
    const instance = sampleInstance(accepting.now(), { dueAt: accepting.now() })
    await accepting.accept(instance)
    const ends = [accepting, third].map((node) => seen(node, instance.id, ({ state }) => state === 'complete'))

    const [claimed] = (await running.claim(CLAIM)).instances
    await seen(third, instance.id, ({ state }) => state === 'pending')
    await running.progress({ id: instance.id, attempt: 1 }, { fraction: 0.5 })
    const { instance: ended } = await running.advance(ending(instance, 1))

    expect(claimed).toMatchObject({ id: instance.id, attempt: 1 })
    expect(await Promise.all(ends)).toEqual([ended, ended])
  })

  test('a node that watches the call of another one is told without looking', async () => {
    await using schema = createSchema(server)
    const running = await schema.open({ clock: systemClock })
    // Its clock stands still, so it never looks.
    const watching = await schema.open({ clock: createManualClock(running.now()), serverTime: () => running.now() })
    const instance = sampleInstance(running.now(), { state: 'pending', attempt: 1, dueAt: running.now() + 60_000 })
    await running.accept(instance)
    const revisions: number[] = []
    watching.watch(instance.id, ({ revision }) => revisions.push(revision))

    await expect
      .poll(
        async () => {
          await running.progress({ id: instance.id, attempt: 1 }, { fraction: 0.5 })
          return revisions.length
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(0)
    await running.advance(ending(instance, 1))
    const { revision } = (await running.get(instance.id)) as { revision: number }

    await expect.poll(() => revisions.at(-1), { timeout: 20_000 }).toBe(revision)
  })

  test('a change reaches watchers although all hints are lost', async () => {
    await using schema = createSchema(server)
    const [watching, changing] = [await schema.open({ clock: systemClock }), await schema.open({ clock: systemClock })]
    const instance = sampleInstance(watching.now(), { dueAt: watching.now() })
    await watching.accept(instance)
    const revisions: number[] = []
    watching.watch(instance.id, ({ revision }) => revisions.push(revision))
    const end = seen(watching, instance.id, ({ state }) => state === 'complete')

    // Without these connections, no hint is sent or heard.
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    await changing.claim(CLAIM)
    await changing.advance(ending(instance, 1))

    expect(await end).toMatchObject({ state: 'complete', revision: 3 })
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b))
  })

  test('each of two nodes that claim at the same time gets other calls', async () => {
    await using schema = createSchema(server)
    const nodes = [await schema.open({ clock: systemClock }), await schema.open({ clock: systemClock })] as const
    const calls = Array.from({ length: 300 }, (_, n) =>
      sampleInstance(nodes[0].now(), { owner: `none|${n % 7}`, dueAt: nodes[0].now() - n }),
    )
    await Promise.all(calls.map((call, n) => nodes[n % 2]?.accept(call)))

    const handedOut: Instance[] = []
    const claimAll = async (node: Store) => {
      for (;;) {
        const { instances } = await node.claim({ ...CLAIM, limit: 20 })
        if (instances.length === 0) return
        handedOut.push(...instances)
      }
    }
    await Promise.all(nodes.flatMap((node) => [claimAll(node), claimAll(node)]))

    expect(handedOut.map(({ id }) => id).sort()).toEqual(calls.map(({ id }) => id).sort())
    expect(new Set(handedOut.map(({ attempt }) => attempt))).toEqual(new Set([1]))
  })

  test('the same request id on two nodes is taken by one of them', async () => {
    await using schema = createSchema(server)
    const nodes = [await schema.open({ clock: systemClock }), await schema.open({ clock: systemClock })] as const
    const [now, lease] = [nodes[0].now(), { state: 'pending' as const, attempt: 1, dueAt: nodes[0].now() + 30_000 }]
    const round = (requestId: string) => nodes.map((node) => node.accept(sampleInstance(now, { requestId, ...lease })))

    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => Promise.all(round(`r${n}`).concat(round(`r${n}`)))),
    )

    for (const each of answers) {
      expect(each.map(({ kind }) => kind).sort()).toEqual(['created', ...Array(3).fill('request-id-taken')])
    }
  })

  test('the calls of a node that died are handed out when their leases are over', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const frozen = createManualClock()
    const options = { serverTime: () => clock.now() }
    // The clock of the first node stands still, and so does the node.
    const dying = await schema.open({ ...options, clock: frozen })
    const other = await schema.open({ ...options, clock })
    const leased = { state: 'pending' as const, attempt: 1, dueAt: clock.now() + 30_000 }
    const instance = sampleInstance(clock.now(), leased)
    await dying.accept(instance)
    expect(await server.query(`SELECT id FROM ${schema.name}.due`)).toEqual([])

    clock.advance(29_999)
    const early = await claimWhenBuried(other, server, schema.name, clock)
    clock.advance(1)
    const late = await other.claim(CLAIM)

    expect(early.instances).toEqual([])
    expect(late.instances).toMatchObject([{ id: instance.id, attempt: 2 }])
    expect(await dying.advance(ending(instance, 1))).toMatchObject({ applied: false, instance: { attempt: 2 } })
    // The node comes back: it accepts calls again, under a new number.
    const next = sampleInstance(clock.now(), { ...leased, dueAt: clock.now() + 30_000 })
    expect(await dying.accept(next)).toEqual({ kind: 'created' })
    expect(await dying.advance(ending(next, 1))).toMatchObject({ applied: true })
    expect((await other.openCounts()).byOwner).toEqual([['main', 'none|ada', 1]])
  })

  test('a queued call that a node had claimed before it died is handed out when its lease is over', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const options = { serverTime: () => clock.now() }
    const dying = await schema.open({ ...options, clock: createManualClock() })
    const other = await schema.open({ ...options, clock })
    const instance = sampleInstance(clock.now(), { dueAt: clock.now() })
    await other.accept(instance)
    const claimed = await dying.claim({ ...CLAIM, leaseMs: 30_000 })
    // A call that runs has no row there, as if its node had accepted it.
    expect(await server.query(`SELECT id FROM ${schema.name}.due`)).toEqual([])

    clock.advance(29_999)
    const early = await claimWhenBuried(other, server, schema.name, clock)
    clock.advance(1)
    const late = await other.claim(CLAIM)

    expect(claimed.instances).toMatchObject([{ id: instance.id, attempt: 1 }])
    expect(early.instances).toEqual([])
    expect(late.instances).toMatchObject([{ id: instance.id, attempt: 2 }])
    expect(await dying.advance(ending(instance, 1))).toMatchObject({ applied: false, instance: { attempt: 2 } })
  })

  test('a node that closes hands over at once', async () => {
    await using schema = createSchema(server)
    const clock = createManualClock()
    const options = { clock, serverTime: () => clock.now() }
    const [leaving, other] = [await schema.open(options), await schema.open(options)]
    const leased = { state: 'pending' as const, attempt: 1, dueAt: clock.now() + 1_000 }
    const instance = sampleInstance(clock.now(), leased)
    await leaving.accept(instance)

    await leaving.close()
    clock.advance(1_000)

    expect((await other.claim(CLAIM)).instances).toMatchObject([{ id: instance.id, attempt: 2 }])
    expect(await server.query(`SELECT count(*)::int AS nodes FROM ${schema.name}.nodes`)).toEqual([{ nodes: 1 }])
  })

  test("nodes follow the database's clock, whatever their own says", async () => {
    await using schema = createSchema(server)
    const hourAhead = { ...systemClock, now: () => systemClock.now() + 3_600_000 }

    const nodes = [await schema.open({ clock: systemClock }), await schema.open({ clock: hourAhead })] as const

    expect(Math.abs(nodes[0].now() - nodes[1].now())).toBeLessThan(1_000)
  })

  test('texts that Postgres cannot hold are read back unchanged', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock: systemClock })
    const odd = 'a\u0000b\u0001c\ud800d\udc00e😀'
    const instance = sampleInstance(store.now(), {
      tenant: `t${odd}`,
      owner: odd,
      requestId: odd,
      sessionId: odd,
      idempotencyKey: odd,
      operation: `v1:${odd}@1.0.0`,
      args: { [odd]: odd },
      dueAt: store.now(),
    })

    await store.accept(instance)
    await store.records.put(odd, odd)
    await store.audit.append({ ...ENTRY, id: odd, owner: odd })

    expect(await store.get(instance.id)).toEqual(instance)
    expect(await store.find(`t${odd}`, odd, odd)).toEqual(instance)
    expect(await store.find(`t${odd}`, odd, odd.replace('\ud800', '\ud801'))).toBe(undefined)
    expect(await store.records.list('a\u0000', 9)).toEqual([{ key: odd, value: odd }])
    expect(await store.audit.list({ tenant: 'main', owner: odd, limit: 9 })).toEqual([
      { ...ENTRY, id: odd, owner: odd },
    ])
    const claimed = await store.claim({ ...CLAIM, operations: [instance.operation] })
    expect(claimed.instances).toMatchObject([{ id: instance.id, owner: odd, attempt: 1 }])
    expect((await store.openCounts()).byOwner).toEqual([[`t${odd}`, odd, 1]])
  })

  test('a node refuses a schema that needs a newer program, and one of another program', async () => {
    await using schema = createSchema(server)
    await (await schema.open({ clock: systemClock })).close()
    await server.query(`INSERT INTO ${schema.name}.migrations VALUES (9999, 1, now())`)
    // Its changes are such that this version can go on.
    await (await schema.open({ clock: systemClock })).close()
    await server.query(`UPDATE ${schema.name}.migrations SET needs = 9999 WHERE version = 9999`)
    await using foreign = createSchema(server)
    await server.query(`CREATE SCHEMA ${foreign.name}`)
    await server.query(`CREATE TABLE ${foreign.name}.things ()`)

    await expect(schema.open({ clock: systemClock })).rejects.toMatchObject({ code: 'STORAGE_NEWER' })
    await expect(foreign.open({ clock: systemClock })).rejects.toMatchObject({ code: 'STORAGE_FOREIGN' })
  })

  test('what a node logs about its database contains no password', async () => {
    const lines: LogLine[] = []
    const url = `postgres://someone:very-secret@127.0.0.1:${server.port}/nowhere`
    await using schema = createSchema(server)

    const failing = schema.open({ clock: systemClock, url, log: createMemoryLog(lines) })

    await expect(failing).rejects.toMatchObject({ name: 'Fault', kind: 'unavailable' })
    const shown = await failing.catch((fault) => JSON.stringify([fault.message, lines]))
    expect(shown).not.toContain('very-secret')
    expect(shown).toContain('nowhere')
  })
})

/** Lets beats pass until the dead node's row is gone, then claims. */
async function claimWhenBuried(node: Store, server: Postgres, schema: string, clock: { advance(ms: number): void }) {
  for (;;) {
    const [{ nodes } = { nodes: 0 }] = await server.query<{ nodes: number }>(
      `SELECT count(*)::int AS nodes FROM ${schema}.nodes`,
    )
    if (nodes === 1) return node.claim(CLAIM)
    clock.advance(0)
  }
}
