/** Stores on one Postgres server, each test with a schema of its own. */
import type { Clock } from '../../../src/core/ports/runtime.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import type { Postgres } from '../../engines/postgres.ts'

export interface Schema extends AsyncDisposable {
  readonly name: string
  readonly server: Postgres
  /** Opens a further node on the schema. It is closed with the schema, if it is still open. */
  open(options: Partial<PostgresStoreOptions> & { clock: Clock }): Promise<Store>
}

let schemas = 0

export function createSchema(server: Postgres): Schema {
  const name = `test_${process.pid}_${++schemas}`
  const opened: Store[] = []
  return {
    name,
    server,
    async open(options) {
      const store = await openPostgresStore({ url: server.url, schema: name, ...options })
      opened.push(store)
      return store
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store.close()
      await server.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
    },
  }
}
