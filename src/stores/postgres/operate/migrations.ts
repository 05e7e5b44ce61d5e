/** The version of a schema, and the migrations that it lacks, for operators who apply them apart from a start. */
import { knownSchema, migrate, quoteName, readMigrations, versionOf } from '../sql/migrate.ts'
import { withSession } from './operator-session.ts'

export interface SchemaState {
  /** Hosts and database, without the login. */
  shown: string
  /** 0 if there is none yet. */
  version: number
  /** The version of the program that it needs at least. */
  needs: number
  /** The newest version that this program knows. */
  known: number
  pending: readonly PendingMigration[]
}

export interface PendingMigration {
  version: number
  /** The oldest version of the program that can use the schema afterwards. */
  needs: number
  sql: string
}

export function readSchema(url: string, schema: string): Promise<SchemaState> {
  return withSession(url, async (session, shown) => {
    const migrations = readMigrations()
    const { version, needs } = await versionOf(session, schema)
    const pending = migrations
      .filter((migration) => migration.version > version)
      .map((migration) => ({ ...migration, sql: migration.sql.replaceAll('{schema}', quoteName(schema)) }))
    return { shown, version, needs, known: knownSchema(migrations), pending }
  })
}

/** Applies what is missing, under the lock that servers take, too. Returns the version afterwards. */
export function applyMigrations(url: string, schema: string): Promise<number> {
  return withSession(url, (session) => migrate(session, schema))
}
