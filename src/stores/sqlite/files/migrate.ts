/** Upgrades a database to the schema of this version, with the numbered files in `migrations`. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { Fault } from '../../../core/fault.ts'

/** "CALP" in the header identifies a database of this program. */
export const APPLICATION_ID = 0x43414c50

const FOLDER = new URL('./migrations/', import.meta.url)

export interface Migration {
  version: number
  sql: string
}

export function readMigrations(): readonly Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}\.sql$/.test(name))
    .sort()
    .map((name) => ({ version: Number(name.slice(0, 4)), sql: readFileSync(new URL(name, FOLDER), 'utf8') }))
}

/** The newest schema of this program. */
export function knownSchema(): number {
  return readMigrations().at(-1)?.version ?? 0
}

/** The values on the first page of the file. */
export interface Header {
  applicationId: number
  version: number
  empty: boolean
}

export function readHeader(db: Database): Header {
  const read = (pragma: string) => Number(db.pragma(pragma, { simple: true }))
  return {
    applicationId: read('application_id'),
    version: read('user_version'),
    empty: read('schema_version') === 0,
  }
}

export function checkHeader(header: Header, migrations: readonly Migration[], file: string): void {
  const known = migrations.at(-1)?.version ?? 0
  if (!header.empty && header.applicationId !== APPLICATION_ID) {
    throw new Fault(
      'unavailable',
      `The database ${file} belongs to another program. Nothing in it was changed: choose another data folder.`,
      { code: 'STORAGE_FOREIGN', retryable: false },
    )
  }
  if (header.version > known) {
    throw new Fault(
      'unavailable',
      `The database ${file} has schema ${header.version}, and this version knows schemas up to ${known}. Nothing in it was changed: start the newer version again, or restore a backup made before the upgrade.`,
      { code: 'STORAGE_NEWER', retryable: false },
    )
  }
}

/** Runs all missing migrations in one transaction. */
export function migrate(db: Database, migrations: readonly Migration[], from: number): void {
  const missing = migrations.filter(({ version }) => version > from)
  if (missing.length === 0) return
  db.transaction(() => {
    for (const { sql } of missing) db.exec(sql)
    db.pragma(`application_id = ${APPLICATION_ID}`)
    db.pragma(`user_version = ${missing.at(-1)?.version}`)
  }).exclusive()
}
