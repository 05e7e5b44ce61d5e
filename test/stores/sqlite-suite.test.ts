/** SQLite passes the suite that every store must pass. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/clock.ts'
import { describeStore } from '../../src/testing/store.ts'
import { temporaryFolder } from './folder.ts'

describeStore({ describe, test, expect }, 'SQLite', async () => {
  const clock = createManualClock()
  const store = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock })
  return { store, clock, cleanup: () => store.close() }
})
