/** How the trail is shortened when its entries are not in the order of their times. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/clock.ts'
import { entryOf } from '../../src/testing/store-audit.ts'
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
