/** Where the server of a test keeps its calls: the same stories run on every store. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OpenStore } from '../../src/core/ports/store.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import type { UsedPostgres } from '../engines/use-postgres.ts'
import { temporaryFolder } from './server.ts'

/** Options of a server. With the same place, a second server finds the calls of the first one. */
export interface Place {
  data: string
  store: OpenStore
}

/** Removed when the test ends. */
export type NewPlace = () => Place

export const inSqlite: NewPlace = () => {
  const data = temporaryFolder()
  return { data, store: async ({ clock, log }) => createSqliteStore({ file: join(data, 'calls.db'), clock, log }) }
}

let schemas = 0

/** A schema for each place. */
export function inPostgres(postgres: UsedPostgres): NewPlace {
  return () => {
    const data = temporaryFolder()
    const schema = `place_${process.pid}_${++schemas}`
    const { url, query } = postgres.server
    onTestFinished(async () => void (await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)))
    return {
      data,
      store: (parts) => {
        const { clock } = parts
        // The test moves its own clock, and the database's must follow.
        return openPostgresStore({ url, schema, ...parts, ...(clock !== systemClock && { serverTime: clock.now }) })
      },
    }
  }
}
