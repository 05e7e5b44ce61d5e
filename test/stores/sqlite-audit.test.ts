/** The audit trail in SQLite: how it is trimmed, and that it does not read large arguments. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { entryOf } from '../../src/testing/suites/store/audit.ts'
import { temporaryFolder } from './folder.ts'

test('entries from a time when the clock was ahead do not keep the old ones behind them', async () => {
  const { audit, close } = createSqliteStore({
    file: join(temporaryFolder(), 'calls.db'),
    clock: createManualClock(),
  })
  onTestFinished(close)
  for (const ahead of ['1', '2', '3']) await audit.append(entryOf(ahead, { endedAt: 9_000 }))
  for (const old of ['4', '5', '6']) await audit.append(entryOf(old, { endedAt: 1_000 }))

  const removed = [await audit.purge(5_000, 2), await audit.purge(5_000, 2), await audit.purge(5_000, 2)]

  expect(removed).toEqual([2, 1, 0])
  expect((await audit.list({ tenant: 'main', limit: 9 })).map(({ id }) => id)).toEqual(['3', '2', '1'])
})

test('large arguments are stored with their hash, so that removing or listing many such calls reads none of them', async () => {
  const file = join(temporaryFolder(), 'calls.db')
  const clock = createManualClock()
  const store = createSqliteStore({ file, clock })
  for (const length of [1_000, 10_000]) {
    const { fingerprint: _none, ...call } = sampleInstance(clock.now(), { args: 'x'.repeat(length) })
    await store.accept(call)
  }
  await store.close()

  const db = new Database(file)
  onTestFinished(() => void db.close())
  const lengths = db.prepare('SELECT length(fingerprint) FROM instances ORDER BY ref').pluck().all()

  expect(lengths).toEqual([0, 64])
})
