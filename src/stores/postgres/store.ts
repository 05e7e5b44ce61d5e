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
import { Callers } from './calls/callers.ts'
import { CallReads } from './calls/reads.ts'
import { SmallChanges } from './calls/small-changes.ts'
import { type Address, parseAddress } from './connect/address.ts'
import { loadDriver } from './connect/driver.ts'
import { closed, openFault, writeFault } from './connect/failures.ts'
import { Lines } from './connect/lines.ts'
import { Connection, type Session, type SessionOptions, statement } from './connect/session.ts'
import { createExpiry } from './generations/expiry.ts'
import { Generations } from './generations/generations.ts'
import { type RotationRules, USUAL_ROTATION } from './generations/rotation.ts'
import { type LinkOptions, Links } from './links/links.ts'
import { createCallList } from './lists/call-list.ts'
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
import { NodePeers } from './peers/peers.ts'
import { createClaim } from './queue/claim.ts'
import { createDueRepair } from './queue/due-repair.ts'
import { createLeases } from './queue/leases.ts'
import { createRecords } from './records.ts'
import { knownSchema, migrate, quoteName, requireMigrated } from './sql/migrate.ts'
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
  { connections = {}, peers = {}, clock, log, serverTime, about: readFacts, rotation }: PostgresStoreOptions,
  { settings, listening, schema, databaseClock, first }: OpenedParts,
): Promise<Store> {
  const tables = tablesOf(schema)
  const known = knownSchema()
  const now = () => databaseClock.now()
  const generations = new Generations(tables)
  const missingTable = (session: Session) => generations.refresh(session)
  const lines = new Lines({ settings, counts: connections, missingTable, log })
  const { writes, reads: reading, claims } = lines
  let marks = 0
  const newMark = () => (membership.number % 2 ** 20) * 2 ** 32 + (marks++ % 2 ** 32)
  const fresh = new FreshCalls(() => clock.monotonicMs())
  const about = new AboutNode()
  tellFacts(about, readFacts)
  const held = new HeldCalls()
  const reads = new CallReads(tables, generations, reading, now)
  const places = { reads, held, generations }
  const membership = new Membership({ ...places, tables, writes, fresh, about, clock, databaseClock, serverTime, log })
  const watchers = createWatchers(log)
  const changed = (instance: Instance, node: number | null) => {
    watchers.tell(instance)
    remote.changedHere(instance, node)
  }
  const { records, within } = createRecords({ tables, writes, reads: reading, now })
  const calls = createCallList({ tables, generations, reads, batches: reading, now })
  const audit = createAudit(tables, generations, writes, reading)
  const acceptance = new AcceptedCalls({
    tables,
    generations,
    callers: new Callers(tables),
    writes,
    reads,
    records: within,
    node: () => membership.number,
    missing: (session, node) => membership.rejoin(session, node),
    fresh,
    now,
    accepted(instance, generation) {
      held.took(instance, generation, null)
      if (!held.get(instance.id)) remote.accepted(instance.id)
      watchers.tell(instance)
    },
  })
  const advances = new AdvancedCalls({ ...places, tables, writes, records: within, fresh, newMark, changed })
  const small = new SmallChanges({
    ...places,
    tables,
    writes,
    newMark,
    now,
    changed,
    registered: (id) => fresh.done(id),
  })
  const leases = createLeases({ ...places, tables, writes, now, fresh })
  const repair = createDueRepair(tables, reads)
  const claim = createClaim({
    tables,
    claims,
    generations,
    reads,
    repair,
    fresh,
    node: () => membership.number,
    missing: (session, node) => membership.rejoin(session, node),
    newMark,
    now,
    claimed(instance, { generation, node }) {
      held.took(instance, generation, node)
      changed(instance, node)
    },
  })
  const channelOf = (node: number | 'all') => `callplane_${hash('sha256', schema, 'hex').slice(0, 8)}_${node}`
  const sideLine = new SideLine({
    settings: { ...settings, address: listening, pooled: false },
    heard(payload) {
      for (const line of payload.split('\n')) {
        if (!nodePeers.heard(line) && !wakeUps.heard(line)) remote.heard(line)
      }
    },
    log,
  })
  const remote = new RemoteChanges({
    batchedReads: reading,
    reads,
    watchers,
    held,
    clock,
    log,
    node: () => membership.number,
    hint: (node, line) => sideLine.tell(channelOf(node), line),
  })
  const nodePeers = new NodePeers({
    schema: quoteName(schema),
    writes,
    clock,
    log,
    now,
    node: () => membership.number,
    missing: (session, node) => membership.rejoin(session, node),
    tell: (to, line) => sideLine.tell(channelOf(to), line),
  })
  membership.joined = async (node) => {
    await sideLine.listen(channelOf(node))
    nodePeers.renumbered()
  }
  const nodes = () => alone(reading, 'nodes', (session) => membership.list(session))
  const links = peers ? new Links({ options: peers, about, nodes, clock, log }) : undefined
  const wakeUps = new DueHints((line) => sideLine.tell(channelOf('all'), line))
  const upkeep = createUpkeep({
    tables,
    writes,
    batchedReads: reading,
    reads,
    repair,
    now,
    freshCounts: (session) => membership.freshCounts(session),
  })
  const rules = { ...USUAL_ROTATION, ...rotation }
  const expiry = createExpiry({ tables, generations, reads, writes, audit, rules, now, log })

  try {
    await generations.refresh(first)
    await sideLine.start()
    await sideLine.listen(channelOf('all'))
    await links?.listen(sideLine.localAddress)
    await membership.start(first)
  } catch (thrown) {
    await links?.close()
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
    await nodePeers.end()
    await writes.idle()
    await links?.close()
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
      const stop = watchers.watch(id, onChange, held.get(id)?.revision)
      remote.begin(id)
      return stop
    },
    listen: watchers.watchAll,
    overdue: (limit) => attempt(() => registered(() => upkeep.overdue(limit))),
    expire: (limit, removeObjects) => attempt(() => expiry.expire(limit, removeObjects)),
    openCounts: () => attempt(() => upkeep.openCounts()),
    records,
    audit: audit.trail,
    calls: {
      page: (query) => attempt(() => calls.page(query)),
      count: (query) => attempt(() => calls.count(query)),
      attempts: (id) => attempt(() => calls.attempts(id)),
    },
    peers: links ? { limits: nodePeers.limits, siblings: nodePeers.siblings, pipes: links } : nodePeers,
    close: () => (closing ??= close()),
  }
}
