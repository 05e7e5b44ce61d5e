/** Where the calls are kept if not in SQLite: a Postgres database that any number of servers share. */
import { Fault } from '../../core/fault.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/database?sslmode=verify-full`. Several hosts are separated by commas. */
  url: string
  /** The schema of the tables. Default: `callplane`. */
  schema?: string
  /**
   * A direct address of the same database. Set it if `url` names a pooler in transaction mode, such as PgBouncer: it
   * carries neither notifications nor prepared statements.
   */
  listenUrl?: string
  /** Connections of this server. Default: 4 for writes and 2 for reads. It needs two more. */
  connections?: { writes?: number; reads?: number }
  /** If false, the server does not start if a migration is pending. `callplane migrate` applies them. Default: true. */
  migrate?: boolean
}

export const POSTGRES: Record<keyof PostgresOptions, true> = {
  url: true,
  schema: true,
  listenUrl: true,
  connections: true,
  migrate: true,
}

/** More would cost the server more than they bring: four writers already share their statements. */
const MOST_CONNECTIONS = 64
/** Postgres cuts longer names off. */
const MAX_NAME = 63

export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text)
}

/** The messages do not repeat the address, which may contain a password. */
export function checkPostgres(options: PostgresOptions): void {
  const { url, schema = 'callplane', listenUrl, connections = {}, migrate = true } = options
  if (typeof migrate !== 'boolean') throw refused('store.migrate must be true or false.')
  for (const [name, given] of Object.entries({ 'store.url': url, ...(listenUrl && { 'store.listenUrl': listenUrl }) }))
    if (typeof given !== 'string' || !isPostgresUrl(given))
      throw refused(`${name} must be the address of a Postgres database: postgres://user@host:5432/database.`)
  if (typeof schema !== 'string' || schema === '' || Buffer.byteLength(schema) > MAX_NAME)
    throw refused(`store.schema must be a name of at most ${MAX_NAME} bytes, such as callplane.`)
  for (const [name, count] of Object.entries(connections)) {
    if (name !== 'writes' && name !== 'reads')
      throw refused(`store.connections has no option "${name}". The options are writes, reads.`)
    if (!Number.isInteger(count) || (count as number) < 1 || (count as number) > MOST_CONNECTIONS)
      throw refused(`store.connections.${name} must be a whole number from 1 to ${MOST_CONNECTIONS}.`)
  }
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
