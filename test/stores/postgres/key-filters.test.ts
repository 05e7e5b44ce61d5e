/** Accepts need not look into closed generations whose keys a filter in memory rules out. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/server/build/environment.ts'
import { keyHash, requestKey } from '../../../src/stores/postgres/calls/keys.ts'
import { Generations } from '../../../src/stores/postgres/generations/generations.ts'
import { filterKeyOf, KeyFilter } from '../../../src/stores/postgres/generations/key-filter.ts'
import { type Keyed, KeyFilters } from '../../../src/stores/postgres/generations/key-filters.ts'
import { tablesOf } from '../../../src/stores/postgres/tables.ts'
import type { Batches } from '../../../src/stores/postgres/writes/batches.ts'
import { sampleInstance } from '../../../src/testing/fakes/instances.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { openChurn, openSession } from './churn.ts'
import { createSchema } from './schemas.ts'

const keyOf = (n: number) => createHash('sha256').update(String(n)).digest('hex').slice(0, 32)

describe('a filter of keys', () => {
  test('has all keys that were added, and rules out nearly all others', () => {
    const count = 20_000
    const filter = new KeyFilter(count)
    for (let n = 0; n < count; n++) filter.addAll(Buffer.from(keyOf(n), 'hex'))

    const missed = Array.from({ length: count }, (_, n) => keyOf(n)).filter((key) => !filter.mayHave(filterKeyOf(key)))
    const passed = Array.from({ length: count }, (_, n) => keyOf(count + n)).filter((key) =>
      filter.mayHave(filterKeyOf(key)),
    )

    expect(missed).toEqual([])
    expect(passed.length).toBeLessThan(count / 1_000)
  })
})

describeWith(postgresServer, 'filters of closed generations', () => {
  let server: Postgres

  beforeAll(async () => {
    // Long enough for the statements of accepts.
    server = await startPostgres({ settings: { track_activity_query_size: '16384' } })
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('rule out generations that have none of the keys, and no others', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock: systemClock })
    // More than one slice.
    const calls = Array.from({ length: 2_500 }, (_, n) => sampleInstance(store.now(), { requestId: `r${n}` }))
    await Promise.all(calls.map((call) => store.accept(call)))
    await store.accept(sampleInstance(store.now(), { requestId: 'keyed', idempotencyKey: 'k' }))
    const tables = tablesOf(schema.name)
    const generations = new Generations(tables)
    const session = await openSession(server)
    const reads: Pick<Batches, 'add'> = {
      add: (shape, value) =>
        new Promise((done, fail) => shape.run(session, [{ value, uncertain: false, done, fail }]).catch(fail)),
    }
    const filters = new KeyFilters({ tables, generations, reads, clock: systemClock, log: undefined })
    const small = new KeyFilters({ tables, generations, reads, clock: systemClock, log: undefined, maxBytes: 5_000 })
    const ruledOut = (requestId: string, idempotencyKey?: string, by = filters) => {
      const instance = sampleInstance(0, { requestId, ...(idempotencyKey !== undefined && { idempotencyKey }) })
      const { tenant, owner } = instance
      const call: Keyed = { requestKey: requestKey(tenant, owner, requestId), keyHash: keyHash(instance), instance }
      return by.rulingOut([call])
    }
    await generations.refresh(session)
    expect(ruledOut('new')).toEqual([])

    const turns = await openChurn(server, schema.name, () => store.now())
    await turns.rotate()
    await generations.refresh(session)
    await vi.waitFor(() => expect(ruledOut('new')).toEqual([1]), 10_000)

    expect(calls.filter(({ requestId }) => ruledOut(requestId).length > 0)).toEqual([])
    expect(ruledOut('new', 'k')).toEqual([])
    expect(ruledOut('new', 'other')).toEqual([1])
    // A call in a closed generation may still get such a request id.
    expect(ruledOut('yielded:1')).toEqual([])
    expect(ruledOut('new', undefined, small)).toEqual([])
    // The number is used again, as after a restored backup.
    await server.query(`UPDATE ${schema.name}.generations SET since = since + 1 WHERE number = 1`)
    await generations.refresh(session)
    expect(ruledOut('new')).toEqual([])
    await vi.waitFor(() => expect(ruledOut('new')).toEqual([1]), 10_000)
    filters.end()
    small.end()
    await turns[Symbol.asyncDispose]()
    await session.close()
  }, 60_000)
  test('are used by the store, which still refuses a request id and a key of a closed generation', async () => {
    await using schema = createSchema(server)
    const store = await schema.open({ clock: systemClock })
    const accept = (requestId: string, idempotencyKey?: string) =>
      store.accept(sampleInstance(store.now(), { requestId, ...(idempotencyKey !== undefined && { idempotencyKey }) }))
    await accept('taken', 'k')
    const turns = await openChurn(server, schema.name, () => store.now())
    await turns.rotate()
    let made = 0
    const looksIntoTheOldOne = async () => {
      await accept(`new ${made++}`)
      const [row] = await server.query<{ query: string }>(`SELECT query FROM pg_stat_activity
        WHERE query LIKE '%INSERT INTO "${schema.name}".calls_2 %' AND pid <> pg_backend_pid() ORDER BY query_start DESC LIMIT 1`)
      expect(row?.query).toContain('.calls_kept WHERE request_key')
      return row?.query.includes('.calls_1 WHERE request_key')
    }

    expect(await looksIntoTheOldOne()).toBe(true)
    await vi.waitFor(async () => expect(await looksIntoTheOldOne()).toBe(false), 10_000)

    expect(await accept('taken')).toMatchObject({ kind: 'request-id-taken' })
    expect(await accept('other', 'k')).toMatchObject({ kind: 'key-taken' })
    expect(await accept('other')).toMatchObject({ kind: 'created' })
    await turns[Symbol.asyncDispose]()
  }, 60_000)
})
