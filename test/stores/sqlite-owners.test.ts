/**
 * Owners are stored once, beside their calls. Each call reports its caller as it was, and an owner without calls is
 * removed.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { expireNow } from '../../src/testing/fakes/expire-now.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

const clock = createManualClock()

function openStore({ file = join(temporaryFolder(), 'calls.db'), maxBytes = 0 } = {}) {
  const store = createSqliteStore({ file, clock, ...(maxBytes > 0 && { maxBytes }) })
  onTestFinished(() => store.close())
  return { store, file }
}

async function ownersIn({ store, file }: ReturnType<typeof openStore>): Promise<unknown[]> {
  await store.close()
  const db = new Database(file)
  const owners = db.prepare('SELECT owner FROM owners ORDER BY owner').pluck().all()
  db.close()
  return owners
}

const ada: Caller = { tenant: 'main', issuer: 'none', subject: 'ada', scopes: ['read'] }

test('each call has the caller it came with, also where the same owner came otherwise before', async () => {
  const opened = openStore()
  const callers: Caller[] = [ada, { ...ada }, { ...ada, scopes: ['read', 'write'] }, { ...ada, userId: 'u1' }]
  const calls = callers.map((caller) => sampleInstance(clock.now(), { caller }))
  for (const call of calls) await opened.store.accept(call)
  await opened.store.close()

  const { store } = openStore({ file: opened.file })

  for (const call of calls) expect(await store.get(call.id)).toEqual(call)
})

test('the same owner of two tenants is two, and neither finds what the other has', async () => {
  const { store } = openStore()
  const here = sampleInstance(clock.now(), { requestId: 'r1' })
  const there = sampleInstance(clock.now(), { requestId: 'r1', tenant: 'other', caller: { ...ada, tenant: 'other' } })

  expect([await store.accept(here), await store.accept(there)]).toEqual([{ kind: 'created' }, { kind: 'created' }])
  expect(await store.find('main', here.owner, 'r1')).toEqual(here)
  expect(await store.find('other', there.owner, 'r1')).toEqual(there)
  expect(await store.find('third', here.owner, 'r1')).toBe(undefined)
})

test('an owner is removed with its last call, and is added again with the next', async () => {
  const opened = openStore()
  const { store } = opened
  const bob = { owner: 'none|bob', caller: { ...ada, subject: 'bob' } }
  const calls = [sampleInstance(clock.now()), sampleInstance(clock.now()), sampleInstance(clock.now(), bob)] as const
  for (const call of calls) await store.accept(call)

  await expireNow(store, [calls[0].id, calls[2].id])
  const again = sampleInstance(clock.now(), { ...bob, caller: { ...bob.caller, scopes: [] } })
  await store.accept(again)
  await expireNow(store, [calls[1].id])

  expect(await store.get(again.id)).toEqual(again)
  expect(await ownersIn(opened)).toEqual(['none|bob'])
})

test('an owner whose first call could not be stored does not count as stored', async () => {
  const opened = openStore({ maxBytes: 512 * 1024 })
  const huge = sampleInstance(clock.now(), { args: 'x'.repeat(1024 * 1024) })
  const fits = sampleInstance(clock.now())

  await expect(opened.store.accept(huge)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  await opened.store.accept(fits)

  expect(await opened.store.get(fits.id)).toEqual(fits)
  expect(await ownersIn(opened)).toEqual(['none|ada'])
})
