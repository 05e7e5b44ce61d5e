/** The files are briefly unavailable: commits made or attempted meanwhile count when the files are back. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Instance } from '../../src/core/call/instance.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

const HOUR_MS = 3_600_000
const CLAIM = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: 30_000 }
const GONE = { code: 'STORAGE_GONE' }

/** A store that has looked for work once and found none. */
async function openStore() {
  const clock = createManualClock()
  const file = join(temporaryFolder(), 'calls.db')
  const store = createSqliteStore({ file, clock })
  onTestFinished(() => store.close())
  await store.claim(CLAIM)
  const away = () => {
    renameSync(file, `${file}.away`)
    // By then the store looks at its files again.
    clock.advance(10)
  }
  const back = () => renameSync(`${file}.away`, file)
  return { clock, store, away, back }
}

test('a call whose commit was not acknowledged is claimed once the files are back', async () => {
  const { clock, store, away, back } = await openStore()
  const instance = sampleInstance(clock.now(), { dueAt: clock.now() })
  away()
  await expect(store.accept(instance)).rejects.toMatchObject(GONE)
  back()

  // Its caller tries again, and learns that the call is stored.
  expect(await store.accept({ ...instance, id: 'again' })).toMatchObject({ instance: { id: instance.id } })

  expect((await store.claim(CLAIM)).instances).toMatchObject([{ id: instance.id, attempt: 1 }])
})

test('watchers get a change whose commit was not acknowledged when the files are back', async () => {
  const { clock, store, away, back } = await openStore()
  const instance = sampleInstance(clock.now(), { dueAt: clock.now() })
  const { id } = instance
  await store.accept(instance)
  await store.claim(CLAIM)
  const told: Instance['state'][] = []
  store.watch(id, ({ state }) => told.push(state))
  away()
  const outcome = { kind: 'result' as const, value: 'done' }
  const end = { id, from: ['pending' as const], to: 'complete' as const, attempt: 1, outcome, endedAt: clock.now() }
  await expect(store.advance(end)).rejects.toMatchObject(GONE)
  const whileAway = [...told]
  back()

  await store.accept(sampleInstance(clock.now()))

  expect(whileAway).toEqual([])
  expect(told).toEqual(['complete'])
  expect(await store.get(id)).toMatchObject({ state: 'complete', outcome })
})

test.each([HOUR_MS, -HOUR_MS])(
  'a back-off takes its time, the clock set by %i ms while the files are away',
  async (setMs) => {
    const { clock, store, away, back } = await openStore()
    const instance = sampleInstance(clock.now(), { dueAt: clock.now() + 10_000, expiresAt: clock.now() + 3 * HOUR_MS })
    await store.accept(instance)
    away()
    await expect(store.accept(sampleInstance(clock.now()))).rejects.toMatchObject(GONE)
    clock.set(setMs)
    await expect(store.claim(CLAIM)).rejects.toMatchObject(GONE)
    back()

    clock.advance(9_989)
    expect((await store.claim(CLAIM)).instances).toEqual([])
    clock.advance(1)
    expect((await store.claim(CLAIM)).instances).toMatchObject([{ id: instance.id }])
  },
)
