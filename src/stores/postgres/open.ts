/** Opens the store: connects, upgrades the schema and reads the server's clock, before the store is put together. */
import type { NodeFacts } from '../../core/ports/nodes.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { parseAddress } from './connect/address.ts'
import { loadDriver } from './connect/driver.ts'
import { openFault } from './connect/failures.ts'
import { Connection, type SessionOptions, statement } from './connect/session.ts'
import type { RotationRules } from './generations/rotation.ts'
import type { LinkOptions } from './links/links.ts'
import { DatabaseClock } from './nodes/database-clock.ts'
import { warnOfLoss } from './operate/warnings.ts'
import { migrate, requireMigrated } from './sql/migrate.ts'
import { assemble } from './store.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database?sslmode=verify-full`. Several hosts are separated by commas. */
  url: string
  /** Default: `callplane`. It is created if it is missing. */
  schema?: string
  /**
   * A direct address for notifications. Set it if `url` names a pooler in transaction mode, such as PgBouncer: it
   * cannot carry them, nor prepared statements.
   */
  listenUrl?: string
  /** Connections of this node. Default: 4 for writes, 2 for reads. Two more are for claims and notifications. */
  connections?: { writes?: number; reads?: number }
  /** Where other nodes reach this one, to read its streams. `false`: they cannot. */
  peers?: LinkOptions | false
  /** If false, a schema that lacks a migration is refused, and not upgraded. Default: true. */
  migrate?: boolean
  clock: Clock
  log?: Log
  /** Reads what this node tells the others. */
  about?: () => NodeFacts
  /** Reads the server's clock, in Unix epoch milliseconds. For tests with a clock of their own. */
  serverTime?: () => number
  /** When a new generation of calls begins. For tests that cannot wait for many calls. */
  rotation?: Partial<RotationRules>
}

const CONNECT_MS = 5_000
const STATEMENT_MS = 5_000

const TIME = statement('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')

export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, schema = 'callplane', listenUrl, clock, log, serverTime } = options
  const settings: SessionOptions = {
    driver: await loadDriver(),
    address: parseAddress(url),
    pooled: listenUrl !== undefined,
    connectMs: CONNECT_MS,
    statementMs: STATEMENT_MS,
  }
  const listening = listenUrl === undefined ? settings.address : parseAddress(listenUrl)
  const first = new Connection(settings)
  const databaseClock = new DatabaseClock({ clock, log })
  const readTime = async () => (await first.query<{ now: number }>(TIME)).rows[0]?.now ?? Number.NaN
  try {
    await first.open()
    await (options.migrate === false ? requireMigrated(first, schema) : migrate(first, schema))
    await warnOfLoss(first, log)
    await databaseClock.measure(async () => (serverTime ? serverTime() : readTime()))
    return await assemble(options, { settings, listening, schema, databaseClock, first })
  } catch (thrown) {
    throw openFault(thrown, settings.address.shown)
  } finally {
    await first.close()
  }
}
