/** The options of commands that open a server's store themselves. */
import { resolve } from 'node:path'
import type { StorePlace } from '../../server/operate/schemas.ts'
import { isPostgresUrl } from '../../server/options/postgres.ts'
import { type CommandIo, usageFault } from '../command.ts'

export const STORE_OPTIONS = {
  store: { type: 'string' },
  schema: { type: 'string' },
  data: { type: 'string' },
} as const

export const STORE_HELP = `  --store <url>          The Postgres database: postgres://user@host:5432/database. Prefer CALLPLANE_STORE for an
                         address with a password. Without it: SQLite in the data folder.
  --schema <name>        The schema in the database (default: callplane).
  --data <folder>        The server's data folder (default: .callplane). Also CALLPLANE_DATA.`

export function placeOf(
  { store, schema = 'callplane', data }: { store?: string; schema?: string; data?: string },
  { env }: Pick<CommandIo, 'env'>,
): StorePlace {
  const url = store ?? (env.CALLPLANE_STORE || undefined)
  if (url !== undefined) requirePostgres('--store', url)
  return {
    ...(url !== undefined && { url }),
    schema,
    data: resolve(data ?? (env.CALLPLANE_DATA || '.callplane')),
  }
}

export function requirePostgres(flag: string, url: string): void {
  if (!isPostgresUrl(url))
    throw usageFault(`${flag} must be the address of a Postgres database: postgres://user@host:5432/database.`)
}
