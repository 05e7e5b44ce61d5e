/** SQLite passes the suite that every store must pass. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { describeStore } from '../../src/testing/suites/store/store.ts'
import { temporaryFolder } from './folder.ts'

for (const [name, index] of [
  ['SQLite', {}],
  ['SQLite that writes its index of request ids at once', { inMemory: 1 }],
] as const)
  describeStore({ describe, test, expect }, name, async () => {
    const clock = createManualClock()
    const store = createSqliteStore({ file: join(temporaryFolder(), 'calls.db'), clock, index })
    return { store, clock, cleanup: () => store.close() }
  })
