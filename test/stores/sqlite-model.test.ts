/** Random sequences of concurrent actions against the SQLite store and the in-memory model. */
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { temporaryFolder } from './folder.ts'
import { playAll, turnsOf } from './random-turns.ts'
import { StoreModel } from './store-model.ts'

test('for random requests, the store returns the same as the model, and states only move forward', async () => {
  const folder = temporaryFolder()
  let run = 0
  await fc.assert(
    fc.asyncProperty(turnsOf(4), async (turns) => {
      const clock = createManualClock()
      const store = createSqliteStore({ file: join(folder, `${run++}.db`), clock })
      try {
        await playAll({ nodes: [store], clock, model: new StoreModel(clock) }, turns)
      } finally {
        await store.close()
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)
