/** The wall clock is set while calls are leased, wait or have a time limit: each duration stays as intended. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Instance } from '../../src/core/call/instance.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

const HOUR_MS = 3_600_000
const LEASE_MS = 30_000
const CLAIM = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: LEASE_MS }

function openStore() {
  const clock = createManualClock()
  const store = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock })
  const accept = async (more: Partial<Instance>) => {
    const instance = sampleInstance(clock.now(), more)
    await store.accept(instance)
    return instance
  }
  return { clock, store, accept }
}

test.each([HOUR_MS, -HOUR_MS])('a lease keeps its length when the clock is set by %i ms', async (setMs) => {
  const { clock, store, accept } = openStore()
  await accept({ dueAt: clock.now() })
  await store.claim(CLAIM)

  clock.set(setMs)

  clock.advance(LEASE_MS - 1)
  expect((await store.claim(CLAIM)).instances).toEqual([])
  clock.advance(1)
  expect((await store.claim(CLAIM)).instances).toMatchObject([{ attempt: 2 }])
})

test.each([HOUR_MS, -HOUR_MS])('a back-off takes its time, the clock set by %i ms', async (setMs) => {
  const { clock, store, accept } = openStore()
  await accept({ dueAt: clock.now() + 5_000, state: 'pending', attempt: 1, settled: 1, failures: 1 })

  clock.set(setMs)

  expect(await store.claim(CLAIM)).toEqual({ instances: [], nextDueAt: clock.now() + 5_000 })
  clock.advance(5_000)
  expect((await store.claim(CLAIM)).instances).toMatchObject([{ attempt: 2 }])
})

test('the clock set forward ends no open call early, and its deadline moves along', async () => {
  const { clock, store, accept } = openStore()
  const extras = { deadlineAt: clock.now() + 60_000, tryEndsAt: clock.now() + 10_000 }
  const { id } = await accept({ dueAt: clock.now(), expiresAt: clock.now() + 600_000, extras })

  clock.set(HOUR_MS)

  expect(await store.overdue(10)).toEqual([])
  const after = await store.get(id)
  expect(after?.extras).toEqual({ deadlineAt: clock.now() + 60_000, tryEndsAt: clock.now() + 10_000 })
  clock.advance(600_000)
  expect(await store.overdue(10)).toMatchObject([{ id }])
})

test('a call that waits for an approval waits until the date that people were told', async () => {
  const { clock, store, accept } = openStore()
  const { id } = await accept({ dueAt: clock.now() + HOUR_MS, extras: { held: true } })

  clock.set(HOUR_MS)

  expect((await store.claim(CLAIM)).instances).toMatchObject([{ id }])
})

test('a result is kept until the date that its caller got', async () => {
  const { clock, store, accept } = openStore()
  const expiresAt = clock.now() + 2 * HOUR_MS
  const { tenant, owner, requestId } = await accept({ state: 'complete', expiresAt, keepUntil: expiresAt })

  clock.set(HOUR_MS)
  expect(await store.find(tenant, owner, requestId)).toMatchObject({ expiresAt })
  clock.advance(HOUR_MS)
  expect(await store.find(tenant, owner, requestId)).toBe(undefined)
})
