/** Where the calls are kept if not in SQLite: a Postgres database that any number of servers share. */
import { isIP } from 'node:net'
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
  /** Where other servers on the database reach this one, to read its streams. `false`: they cannot. */
  peers?: PeersOptions | false
  /** If false, the server does not start if a migration is pending. `callplane migrate` applies them. Default: true. */
  migrate?: boolean
}

export interface PeersOptions {
  /** The address to listen at. Default: the address from which this server reaches the database. */
  host?: string
  /** Default: a free port. With workers, the first one uses it, the second one the next, and so on. */
  port?: number
  /** The host that other servers connect to, at the same port. Default: `host`. */
  advertise?: string
}

export const POSTGRES: Record<keyof PostgresOptions, true> = {
  url: true,
  schema: true,
  listenUrl: true,
  connections: true,
  peers: true,
  migrate: true,
}

const PEERS: Record<keyof PeersOptions, true> = { host: true, port: true, advertise: true }

/** More would cost the server more than they bring: four writers already share their statements. */
const MOST_CONNECTIONS = 64
/** Postgres cuts longer names off. */
const MAX_NAME = 63

export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text)
}

/** The messages do not repeat the address, which may contain a password. */
export function checkPostgres(options: PostgresOptions): void {
  const { url, schema = 'callplane', listenUrl, connections = {}, peers, migrate = true } = options
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
  if (peers) checkPeers(peers)
}

function checkPeers(peers: PeersOptions): void {
  if (typeof peers !== 'object') throw refused('store.peers must be an object with host, port and advertise, or false.')
  for (const name of Object.keys(peers))
    if (!(name in PEERS)) throw refused(`store.peers has no option "${name}". The options are host, port, advertise.`)
  const { host, port, advertise } = peers
  for (const [name, given] of Object.entries({ host, advertise }))
    if (given !== undefined && (typeof given !== 'string' || !isHost(given)))
      throw refused(`store.peers.${name} must be the name or the address of a host, such as 10.0.0.5.`)
  if (port !== undefined && (!Number.isInteger(port) || port < 0 || port > 65_535))
    throw refused('store.peers.port must be a whole number from 0 to 65535.')
}

function isHost(text: string): boolean {
  return isIP(text) !== 0 || /^[\w.-]+$/.test(text)
}

/** Each worker of a server listens at a port of its own. Workers are numbered from 1. */
export function forWorker(options: PostgresOptions, worker: number): PostgresOptions {
  const { peers } = options
  if (!peers) return options
  const { port = 0 } = peers
  return port === 0 ? options : { ...options, peers: { ...peers, port: port + worker - 1 } }
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
