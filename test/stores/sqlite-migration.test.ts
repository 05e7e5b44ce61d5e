/** A file from an earlier version has the same calls after its migration. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { Instance } from '../../src/core/call/instance.ts'
import { migrate, readMigrations } from '../../src/stores/sqlite/files/migrate.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { expireNow } from '../../src/testing/fakes/expire-now.ts'
import { temporaryFolder } from './folder.ts'

const clock = createManualClock()

/** Schema 4: every row has the caller, and all audit entries are in a separate table. */
function fileOfSchema4(): string {
  const file = join(temporaryFolder(), 'calls.db')
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  migrate(
    db,
    readMigrations().filter(({ version }) => version <= 4),
    0,
  )
  const insert = db.prepare(
    `INSERT INTO instances (id, tenant, owner, caller, request_id, session_id, operation, model, args, media, fingerprint,
       idempotency_key, lineage, state, ended, revision, attempt, settled, failures, rerunnable, stop_requested, outcome,
       created_at, expires_at, keep_until, due_at, ended_at, extras)
     VALUES (@id, @tenant, @owner, @caller, @request, 's1', 'v1:a.b@1.0.0', 'async', '{"n":1}', '[]', 'f1', @key, '[]',
       @state, @ended, 3, 1, 0, 0, 1, 0, @outcome, 1, ${clock.now() + 9_000}, ${clock.now() + 9_000}, @due, 2,
       '{"rule":"p#1"}')`,
  )
  const ada = '{"tenant":"main","issuer":"none","subject":"ada","scopes":["a"]}'
  const other = '{"tenant":"main","issuer":"none","subject":"ada","scopes":["b"]}'
  const done = { state: 'complete', ended: 1, outcome: '{"kind":"result","value":7}', due: null }
  const open = { state: 'pending', ended: 0, outcome: null, due: 5 }
  const adas = { tenant: 'main', owner: 'none|ada' }
  insert.run({ ...adas, ...done, id: 'i1', caller: ada, request: 'r1', key: 'k1' })
  insert.run({ ...adas, ...open, id: 'i2', caller: other, request: 'r2', key: null })
  insert.run({ ...open, tenant: 'second', owner: 'none|ada', id: 'i3', caller: ada, request: 'r1', key: 'k1' })
  db.exec(`INSERT INTO aliases VALUES ('main', 'none|ada', 'r9', 's9', 'i1', ${clock.now() + 5_000})`)
  db.exec(`INSERT INTO audit VALUES ('i1', 'main', 'none|ada', 'v1:a.b@1.0.0', 2, '{"requestId":"r1","attempts":1}')`)
  db.close()
  return file
}

test('request ids of a file with more calls than are read at a time are all found', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  migrate(
    db,
    readMigrations().filter(({ version }) => version <= 5),
    0,
  )
  db.exec(`
    INSERT INTO owners VALUES (1, 'main', 'none|ada', '{"tenant":"main","issuer":"none","subject":"ada","scopes":[]}');
    INSERT INTO instances (id, owner, request_id, operation, fingerprint, state, ended, revision, attempt, settled,
      failures, created_at, expires_at, keep_until, model, rerunnable, stop_requested, args, media, lineage)
    WITH RECURSIVE counted (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < 100005)
    SELECT 'i' || n, 1, 'r' || n, 'v1:a.b@1.0.0', 'f', 'complete', 1, 2, 1, 0, 0, 1, ${clock.now() + 9_000},
      ${clock.now() + 9_000}, 'async', 1, 0, '{}', '[]', '[]' FROM counted`)
  db.close()

  const store = createSqliteStore({ file, clock })
  onTestFinished(() => store.close())

  for (const n of [1, 50_000, 100_000, 100_001, 100_005]) {
    expect(await store.find('main', 'none|ada', `r${n}`)).toMatchObject({ id: `i${n}` })
  }
  expect(await store.find('main', 'none|ada', 'r100006')).toBe(undefined)
})

test('calls, aliases, keys and the trail of schema 4 are all there, each with its own caller', async () => {
  const store = createSqliteStore({ file: fileOfSchema4(), clock })
  onTestFinished(() => store.close())

  const [first, second, third] = [await store.get('i1'), await store.get('i2'), await store.get('i3')]

  expect(first).toMatchObject({
    tenant: 'main',
    owner: 'none|ada',
    caller: { subject: 'ada', scopes: ['a'] },
    requestId: 'r1',
    sessionId: 's1',
    args: { n: 1 },
    idempotencyKey: 'k1',
    state: 'complete',
    revision: 3,
    outcome: { kind: 'result', value: 7 },
    extras: { rule: 'p#1' },
    endedAt: 2,
  })
  expect(second).toMatchObject({ owner: 'none|ada', caller: { scopes: ['b'] }, state: 'pending', attempt: 1 })
  expect(third).toMatchObject({ tenant: 'second', caller: { scopes: ['a'] } })
  expect(await store.find('main', 'none|ada', 'r2')).toMatchObject({ id: 'i2' })
  expect(await store.find('second', 'none|ada', 'r1')).toMatchObject({ id: 'i3' })
  expect(await store.accept({ ...(second as Instance), id: 'i5' })).toMatchObject({ kind: 'request-id-taken' })
  expect(await store.find('main', 'none|ada', 'r9')).toMatchObject({ id: 'i1', requestId: 'r9', sessionId: 's9' })
  expect(await store.accept({ ...(third as Instance), id: 'i4', requestId: 'r4' })).toMatchObject({ kind: 'key-taken' })
  expect(await store.audit.list({ tenant: 'main', limit: 9 })).toMatchObject([{ id: 'i1', requestId: 'r1' }])
  await expireNow(store, ['i1'])
  expect(await store.audit.list({ tenant: 'main', limit: 9 })).toHaveLength(1)
  const { instances } = await store.claim({ operations: ['v1:a.b@1.0.0'], limit: 9, leaseMs: 1_000 })
  expect(instances.map(({ id }) => id).sort()).toEqual(['i2', 'i3'])
})
