/** Postgres passes the suite that every store must pass: one node, and two nodes that share the work of one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Store } from '../../../src/core/ports/store.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { describeStore } from '../../../src/testing/suites/store/store.ts'
import {
  describeWith,
  NEWER_POSTGRES_PROGRAMS,
  newerPostgresServer,
  POSTGRES_PROGRAMS,
  pooler,
  postgresServer,
  together,
} from '../../engines/engines.ts'
import { type PgBouncer, startPgBouncer } from '../../engines/pgbouncer.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { createSchema } from './schemas.ts'

const SERVERS = [
  { engine: postgresServer, name: 'Postgres', programs: POSTGRES_PROGRAMS },
  { engine: newerPostgresServer, name: 'a newer Postgres', programs: NEWER_POSTGRES_PROGRAMS },
]

describe.each(SERVERS)('on $name', ({ engine, name, programs }) =>
  describeWith(engine, `a store in ${name}`, () => {
    let server: Postgres

    beforeAll(async () => {
      server = await startPostgres({ programs })
    }, 60_000)
    afterAll(() => server[Symbol.asyncDispose]())

    const open = (nodes: number, make: (...nodes: Store[]) => Store) => async () => {
      const clock = createManualClock()
      const schema = createSchema(server)
      const opened: Store[] = []
      while (opened.length < nodes) opened.push(await schema.open({ clock, serverTime: () => clock.now() }))
      const close = async () => void (await Promise.all(opened.map((node) => node.close())))
      return { store: { ...make(...opened), close }, clock, cleanup: async () => schema[Symbol.asyncDispose]() }
    }

    describeStore(
      { describe, test, expect },
      'one node',
      open(1, (node) => node as Store),
    )
    describeStore(
      { describe, test, expect },
      'one node, for whose slots its calls wait',
      open(1, (node) => waitingHere(node as Store)),
    )
    describeStore(
      { describe, test, expect },
      'one node accepts and ends calls, another claims and reads them',
      open(2, (a, b) => apart(a as Store, b as Store)),
    )
  }),
)

describeWith(together(postgresServer, pooler), 'a store in Postgres behind PgBouncer', () => {
  let [server, bouncer]: [Postgres?, PgBouncer?] = []

  beforeAll(async () => {
    server = await startPostgres()
    bouncer = await startPgBouncer(server)
  }, 60_000)
  afterAll(async () => {
    await bouncer?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  describeStore({ describe, test, expect }, 'one node behind a pooler', async () => {
    const clock = createManualClock()
    const schema = createSchema(server as Postgres)
    const url = bouncer?.url ?? ''
    const store = await schema.open({ clock, serverTime: () => clock.now(), url, listenUrl: schema.server.url })
    return { store, clock, cleanup: async () => schema[Symbol.asyncDispose]() }
  })
})

/** As the engine accepts a call that finds no slot. */
function waitingHere(node: Store): Store {
  return { ...node, accept: (instance, more) => node.accept(instance, { ...more, leaseAheadMs: 30_000 }) }
}

/** Node `a` accepts and changes, node `b` hands out and reads. */
function apart(a: Store, b: Store): Store {
  return {
    ...a,
    get: b.get,
    find: b.find,
    alias: b.alias,
    async claim(claim) {
      // A node writes the queue rows of its lapsed leases within seconds. The manual clock leaves it no time.
      await a.claim({ ...claim, operations: [] })
      return b.claim(claim)
    },
    extend: b.extend,
    overdue: b.overdue,
    expire: b.expire,
    openCounts: b.openCounts,
    records: { ...a.records, get: b.records.get, list: b.records.list, purge: b.records.purge },
    audit: { ...a.audit, list: b.audit.list, purge: b.audit.purge },
    // At once on the node that makes the change. How the other node learns of it has tests of its own.
    watch(id, changed) {
      let last = 0
      const once: typeof changed = (instance) => {
        if (instance.revision <= last) return
        last = instance.revision
        changed(instance)
      }
      const stops = [a.watch(id, once), b.watch(id, once)]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}
