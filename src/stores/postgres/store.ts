/**
 * The store in Postgres, for any number of nodes. Writes that wait together share statements. Every statement can be
 * sent again after a lost answer, and reads of a call go to the primary.
 */
import { hash } from 'node:crypto'
import type { Instance } from '../../core/call/instance.ts'
import type { NodeFacts } from '../../core/ports/nodes.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { createAudit } from './audit.ts'
import { AcceptedCalls } from './calls/acceptance.ts'
import { AdvancedCalls } from './calls/advance.ts'
import { CallReads } from './calls/reads.ts'
import { SmallChanges } from './calls/small-changes.ts'
import { type Address, parseAddress } from './connect/address.ts'
import { loadDriver } from './connect/driver.ts'
import { closed, openFault, writeFault } from './connect/failures.ts'
import { Lines } from './connect/lines.ts'
import { Connection, type SessionOptions, statement } from './connect/session.ts'
import { AboutNode } from './nodes/about-node.ts'
import { DatabaseClock } from './nodes/database-clock.ts'
import { FreshCalls } from './nodes/fresh-calls.ts'
import { HeldCalls } from './nodes/held-calls.ts'
import { Membership } from './nodes/membership.ts'
import { RemoteChanges } from './nodes/remote-changes.ts'
import { SideLine } from './nodes/side-line.ts'
import { createWatchers } from './nodes/watchers.ts'
import { DueHints } from './operate/due-hints.ts'
import { nodeOf, tellFacts } from './operate/node-facts.ts'
import { troublesOf } from './operate/troubles.ts'
import { warnOfLoss } from './operate/warnings.ts'
import { createClaim } from './queue/claim.ts'
import { createLeases } from './queue/leases.ts'
import { createRecords } from './records.ts'
import { knownSchema, migrate, requireMigrated } from './sql/migrate.ts'
import { tablesOf } from './tables.ts'
import { createUpkeep } from './upkeep.ts'
import { alone } from './writes/alone.ts'

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
  /** If false, a schema that lacks a migration is refused, and not upgraded. Default: true. */
  migrate?: boolean
  clock: Clock
  log?: Log
  /** Reads what this node tells the others. */
  about?: () => NodeFacts
  /** Reads the server's clock, in Unix epoch milliseconds. For tests with a clock of their own. */
  serverTime?: () => number
}

const CONNECT_MS = 5_000
const STATEMENT_MS = 5_000

const TIME = statement('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')

/** Connects, upgrades the schema and reads the server's clock, before the store is put together. */
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

interface OpenedParts {
  settings: SessionOptions
  listening: Address
  schema: string
  databaseClock: DatabaseClock
  /** Open only while the store is put together. */
  first: Connection
}

async function assemble(
  { connections = {}, clock, log, serverTime, about: readFacts }: PostgresStoreOptions,
  { settings, listening, schema, databaseClock, first }: OpenedParts,
): Promise<Store> {
  const tables = tablesOf(schema)
  const known = knownSchema()
  const now = () => databaseClock.now()
  const lines = new Lines({ settings, counts: connections, log })
  const { writes, reads: reading, claims } = lines
  let marks = 0
  const newMark = () => (membership.number % 2 ** 20) * 2 ** 32 + (marks++ % 2 ** 32)
  const fresh = new FreshCalls(() => clock.monotonicMs())
  const about = new AboutNode()
  tellFacts(about, readFacts)
  const membership = new Membership({ tables, writes, fresh, about, clock, databaseClock, serverTime, log })
  const held = new HeldCalls()
  const watchers = createWatchers(log)
  const changed = (instance: Instance, node: number | null) => {
    watchers.tell(instance)
    remote.changedHere(instance, node)
  }
  const reads = new CallReads(tables, reading, now)
  const { records, within } = createRecords({ tables, writes, reads: reading, now })
  const audit = createAudit(tables, writes, reading)
  const acceptance = new AcceptedCalls({
    tables,
    writes,
    reads,
    records: within,
    node: () => membership.number,
    missing: (session, node) => membership.rejoin(session, node),
    fresh,
    now,
    accepted(instances) {
      for (const instance of instances) {
        held.took(instance)
        watchers.tell(instance)
      }
    },
  })
  const advances = new AdvancedCalls({ tables, writes, reads, records: within, held, fresh, newMark, changed })
  const small = new SmallChanges({
    tables,
    writes,
    reads,
    held,
    newMark,
    now,
    changed,
    registered: (id) => fresh.done(id),
  })
  const leases = createLeases({ tables, writes, now, fresh })
  const claim = createClaim({
    tables,
    claims,
    newMark,
    now,
    claimed(instance, node) {
      held.took(instance)
      changed(instance, node)
    },
  })
  const channelOf = (node: number | 'due') => `callplane_${hash('sha256', schema, 'hex').slice(0, 8)}_${node}`
  const sideLine = new SideLine({
    settings: { ...settings, address: listening, pooled: false },
    heard(payload) {
      for (const line of payload.split('\n')) if (!wakeUps.heard(line)) remote.heard(line)
    },
    log,
  })
  const remote = new RemoteChanges({
    tables,
    batchedReads: reading,
    reads,
    watchers,
    held,
    clock,
    log,
    node: () => membership.number,
    hint: (node, line) => sideLine.tell(channelOf(node), line),
  })
  const wakeUps = new DueHints((line) => sideLine.tell(channelOf('due'), line))
  membership.joined = (node) => sideLine.listen(channelOf(node))
  const upkeep = createUpkeep({
    tables,
    writes,
    batchedReads: reading,
    reads,
    audit,
    now,
    freshCounts: (session) => membership.freshCounts(session),
  })

  try {
    await sideLine.listen(channelOf('due'))
    await sideLine.start()
    await membership.start(first)
  } catch (thrown) {
    await sideLine.end()
    throw thrown
  }

  /** Values that cannot be encoded throw, and the port says that every failure is a fault. */
  const attempt = <T>(run: () => Promise<T>): Promise<T> => {
    if (closing) return Promise.reject(closed())
    try {
      return run()
    } catch (thrown) {
      return Promise.reject(writeFault(thrown))
    }
  }
  /** First writes the rows in `due` of this node's calls whose leases are over. */
  const registered = async <T>(run: () => Promise<T>): Promise<T> => {
    await membership.registerAll(fresh.due(now()))
    return run()
  }
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    // A call that is being accepted may have to be registered before this node leaves.
    await writes.idle()
    await membership.end()
    await lines.close()
    remote.end()
    await sideLine.end()
  }

  return {
    now,
    schema: known,
    wakeUps,
    troubles: () =>
      attempt(() =>
        alone(reading, 'troubles', (session) => troublesOf(session, { schema, known, clock: databaseClock })),
      ),
    nodes: () =>
      attempt(() => alone(reading, 'nodes', async (session) => (await membership.list(session)).map(nodeOf))),
    accept: (instance, more) => attempt(() => acceptance.accept(instance, more)),
    alias: (alias) => attempt(() => acceptance.alias(alias)),
    get: (id) => attempt(() => reads.get(id)),
    find: (tenant, owner, requestId) => attempt(() => reads.find(tenant, owner, requestId)),
    claim: (wanted) => attempt(() => registered(() => claim(wanted))),
    extend: (held, leaseMs) => attempt(() => leases.extend(held, leaseMs)),
    advance: (change) => attempt(() => advances.advance(change)),
    answer: (id, answer, failures) => attempt(() => small.answer(id, answer, failures)),
    progress: (lease, progress) => attempt(() => small.progress(lease, progress)),
    tell: (id) => attempt(() => small.tell(id)),
    requestStop: (id) => attempt(() => small.requestStop(id)),
    watch(id, onChange) {
      const stop = watchers.watch(id, onChange)
      remote.begin()
      return stop
    },
    overdue: (limit) => attempt(() => registered(() => upkeep.overdue(limit))),
    expire: (limit, removeObjects) => attempt(() => upkeep.expire(limit, removeObjects)),
    openCounts: () => attempt(() => upkeep.openCounts()),
    records,
    audit: audit.trail,
    close: () => (closing ??= close()),
  }
}
