/** Random sequences of actions by two nodes on one Postgres, and the in-memory model. Generations change on the way. */
import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import { playAll, turnsOf } from '../random-turns.ts'
import { StoreModel } from '../store-model.ts'
import { createSchema } from './schemas.ts'

/** A generation is closed after 20 ms of the test's clock, and emptied soon after. */
const ROTATION = { minAgeMs: 20, smallAgeMs: 20, largeBytes: 1 }

describeWith(postgresServer, 'a store in Postgres', () => {
  let server: Postgres

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  test('for random requests to two nodes, each returns the same as the model, and states only move forward', async () => {
    await fc.assert(
      fc.asyncProperty(turnsOf(1), async (turns) => {
        await using schema = createSchema(server)
        const clock = createManualClock()
        const open = () => schema.open({ clock, serverTime: () => clock.now(), rotation: ROTATION, peers: false })
        const nodes = [await open(), await open()]
        await playAll({ nodes, clock, model: new StoreModel(clock) }, turns)
      }),
      { numRuns: 10 },
    )
  }, 120_000)
})
