/** The schema of a store for the command line: its version, and the migrations that it lacks. */
import { join } from 'node:path'
import type { SchemaState } from '../../stores/postgres/operate/migrations.ts'
import { readFileSchema } from '../../stores/sqlite/files/inspect.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import { systemClock } from '../build/environment.ts'

export type { SchemaState }

/** Where a server keeps its calls. */
export interface StorePlace {
  /** The address of a Postgres database. Default: SQLite in the data folder. */
  url?: string
  schema: string
  data: string
}

export async function readSchemaOf({ url, schema, data }: StorePlace): Promise<SchemaState> {
  if (url !== undefined) {
    const { readSchema } = await import('../../stores/postgres/operate/migrations.ts')
    const state = await readSchema(url, schema)
    return { ...state, shown: `The schema ${schema} at ${state.shown}` }
  }
  const { version, known } = readFileSchema(databaseIn(data))
  // An embedded database is upgraded by the only process that uses it, so the statements tell nothing.
  const missing = Array.from({ length: known - version }, (_, at) => version + at + 1)
  const pending = missing.map((number) => ({ version: number, needs: number, sql: '' }))
  return { shown: `The database in ${data}`, version, needs: version, known, pending }
}

export async function applySchema({ url, schema, data }: StorePlace): Promise<number> {
  if (url !== undefined) {
    const { applyMigrations } = await import('../../stores/postgres/operate/migrations.ts')
    return applyMigrations(url, schema)
  }
  const store = createSqliteStore({ file: databaseIn(data), clock: systemClock })
  await store.close()
  return readFileSchema(databaseIn(data)).version
}

export function databaseIn(data: string): string {
  return join(data, 'callplane.db')
}
