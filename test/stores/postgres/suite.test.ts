/** Postgres passes the suite that every store must pass. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { describeStore } from '../../../src/testing/suites/store/store.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'

describeWith(postgresServer, 'a store in Postgres', () => {
  let server: Postgres
  let schemas = 0

  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server[Symbol.asyncDispose]())

  describeStore({ describe, test, expect }, 'Postgres', async () => {
    const clock = createManualClock()
    const schema = `s${++schemas}`
    const store = await openPostgresStore({ url: server.url, schema, clock, serverTime: () => clock.now() })
    return {
      store,
      clock,
      async cleanup() {
        await store.close()
        await server.query(`DROP SCHEMA ${schema} CASCADE`)
      },
    }
  })
})
