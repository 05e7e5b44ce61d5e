/** Reads the version of a database file without changing it. */
import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { openFault } from '../storage-faults.ts'
import { checkHeader, knownSchema, readHeader, readMigrations } from './migrate.ts'

/** Throws a fault if a server uses the file, or if it is of another program or a newer version. */
export function readFileSchema(file: string): { version: number; known: number } {
  const known = knownSchema()
  if (!existsSync(file)) return { version: 0, known }
  let db: Database.Database | undefined
  try {
    db = new Database(file, { readonly: true, timeout: 0 })
    const header = readHeader(db)
    checkHeader(header, readMigrations(), file)
    return { version: header.version, known }
  } catch (thrown) {
    throw openFault(thrown, file)
  } finally {
    db?.close()
  }
}
