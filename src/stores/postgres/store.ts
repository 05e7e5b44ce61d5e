/**
 * The store in Postgres, for any number of nodes. Writes that wait together share statements. Every statement can be
 * sent again after a lost answer, and reads of a call go to the primary.
 */
import { hash } from 'node:crypto'
import type { Instance } from '../../core/call/instance.ts'
import { isTerminal, statesBefore } from '../../core/call/state.ts'
import { settledUnbegun } from '../../core/call/unbegun.ts'
import type { Change, Store } from '../../core/ports/store.ts'
import { createAudit } from './audit.ts'
import { AcceptedCalls } from './calls/acceptance.ts'
import { AdvancedCalls } from './calls/advance.ts'
import { Aliases } from './calls/aliases.ts'
import { Callers } from './calls/callers.ts'
import { CallReads } from './calls/reads.ts'
import { SmallChanges } from './calls/small-changes.ts'
import type { Address } from './connect/address.ts'
import { closed, writeFault } from './connect/failures.ts'
import { Lines } from './connect/lines.ts'
import type { Connection, Session, SessionOptions } from './connect/session.ts'
import { createExpiry } from './generations/expiry.ts'
import { Generations } from './generations/generations.ts'
import { KeyFilters } from './generations/key-filters.ts'
import { USUAL_ROTATION } from './generations/rotation.ts'
import { Links } from './links/links.ts'
import { createCallList } from './lists/call-list.ts'
import { AboutNode } from './nodes/about-node.ts'
import type { DatabaseClock } from './nodes/database-clock.ts'
import { EndedNodes } from './nodes/ended-nodes.ts'
import { FreshCalls } from './nodes/fresh-calls.ts'
import { HeldCalls } from './nodes/held-calls.ts'
import { Membership } from './nodes/membership.ts'
import { RemoteChanges } from './nodes/remote-changes.ts'
import { SideLine } from './nodes/side-line.ts'
import { Takeover } from './nodes/takeover.ts'
import { createWatchers } from './nodes/watchers.ts'
import type { PostgresStoreOptions } from './open.ts'
import { DueHints } from './operate/due-hints.ts'
import { nodeOf, tellFacts } from './operate/node-facts.ts'
import { troublesOf } from './operate/troubles.ts'
import { NodePeers } from './peers/peers.ts'
import { BegunHere } from './queue/begun-here.ts'
import { createClaim } from './queue/claim.ts'
import { createDueRepair } from './queue/due-repair.ts'
import { createLeases } from './queue/leases.ts'
import { QueuedHere } from './queue/queued-here.ts'
import { WaitingHere } from './queue/waiting-here.ts'
import { createRecords } from './records.ts'
import { knownSchema, quoteName } from './sql/migrate.ts'
import { tablesOf } from './tables.ts'
import { createUpkeep } from './upkeep.ts'
import { alone } from './writes/alone.ts'

interface OpenedParts {
  settings: SessionOptions
  listening: Address
  schema: string
  databaseClock: DatabaseClock
  /** Open only while the store is put together. */
  first: Connection
}

export async function assemble(
  { connections = {}, peers = {}, clock, log, serverTime, about: readFacts, rotation }: PostgresStoreOptions,
  { settings, listening, schema, databaseClock, first }: OpenedParts,
): Promise<Store> {
  const tables = tablesOf(schema)
  const known = knownSchema()
  const now = () => databaseClock.now()
  const generations = new Generations(tables)
  const missingTable = (session: Session) => generations.refresh(session)
  const lines = new Lines({
    settings,
    counts: connections,
    missingTable,
    log,
    shared: (): boolean => membership.hasOthers,
  })
  const { writes, reads: reading, claims } = lines
  let marks = 0
  const newMark = () => (membership.number % 2 ** 20) * 2 ** 32 + (marks++ % 2 ** 32)
  const fresh = new FreshCalls(() => clock.monotonicMs())
  const about = new AboutNode()
  tellFacts(about, readFacts)
  const held = new HeldCalls()
  const queuedHere = new QueuedHere()
  const begunHere = new BegunHere({
    clock,
    log,
    held,
    begin: (id, attempt, begunAt) => small.begin(id, attempt, begunAt),
  })
  const waitingHere = new WaitingHere({
    clock,
    log,
    held,
    fresh,
    giveBack: (instance, dueAt) => advances.advance(givenBack(instance, dueAt)),
    queued: (instance, args) => queuedHere.add(instance, args),
    begun: (id) => begunHere.add(id),
    wakeHere: () => wakeUps.wakeHere(),
    wakeOthers: () => wakeUps.send(),
  })
  const dueChanged = () => waitingHere.dueChanged()
  const reads = new CallReads(tables, generations, reading, now)
  const places = { reads, held, generations }
  const takeover = new Takeover({ ...places, tables, fresh, about, now, log })
  const member = {
    ...places,
    tables,
    writes,
    fresh,
    takeover,
    about,
    clock,
    databaseClock,
    serverTime,
    dueChanged,
    log,
  }
  const membership = new Membership(member)
  const watchers = createWatchers(log)
  const changed = (instance: Instance, node: number | null) => {
    watchers.tell(instance)
    waitingHere.changed(instance)
    remote.changedHere(instance, node)
  }
  const { records, within } = createRecords({ tables, writes, reads: reading, now })
  const calls = createCallList({ tables, generations, reads, batches: reading, now })
  const audit = createAudit(tables, generations, writes, reading)
  const filters = new KeyFilters({ tables, generations, reads: reading, clock, log })
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
    filters,
    mayWait: () => waitingHere.takesMore,
    now,
    accepted(call, generation, waits) {
      const { instance, args } = call
      const isHeld = held.took(instance, generation, null)
      if (waits) waitingHere.add(call, generation)
      else if (!isHeld) {
        queuedHere.add(instance, args)
        dueChanged()
      }
      watchers.tell(instance)
    },
  })
  const aliases = new Aliases({ tables, generations, writes, reads, now })
  const advances = new AdvancedCalls({
    ...places,
    tables,
    writes,
    records: within,
    fresh,
    newMark,
    changed(instance, node) {
      if (!isTerminal(instance.state)) dueChanged()
      changed(instance, node)
    },
  })
  const small = new SmallChanges({
    ...places,
    tables,
    writes,
    newMark,
    now,
    changed,
    registered(id) {
      fresh.done(id)
      dueChanged()
    },
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
    queuedHere,
    waitingHere,
    node: () => membership.number,
    missing: (session, node) => membership.rejoin(session, node),
    newMark,
    now,
    claimed({ instance, generation, acceptedBy }) {
      held.took(instance, generation, acceptedBy)
      changed(instance, acceptedBy)
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
    suspend: (id) => waitingHere.suspend(id),
    changed: (instance) => waitingHere.changed(instance),
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
    nodeEnds.renumbered()
    // Others have offered the calls of the old number to all nodes, at the end of their leases.
    void waitingHere.release()
  }
  const nodes = () => alone(reading, 'nodes', (session) => membership.list(session))
  const links = peers ? new Links({ options: peers, about, nodes, clock, log }) : undefined
  const wakeUps = new DueHints((line) => sideLine.tell(channelOf('all'), line))
  wakeUps.receive(dueChanged)
  const nodeEnds = new EndedNodes({
    writes,
    takeover,
    node: () => membership.number,
    freed: (operations) => nodePeers.freed(operations),
    wake: () => wakeUps.send(),
  })
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
    await membership.registerUnlocked(fresh.due(now()))
    return run()
  }
  /** The row of a call that has just begun here may not say so. Then it is written, and read again. */
  const current = async (read: () => Promise<Instance | undefined>) => {
    const found = await read()
    const settling = found?.state === 'accepted' ? begunHere.settle(found.id) : undefined
    return settling ? settling.then(read) : found
  }
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    filters.end()
    begunHere.end()
    // A call that is being accepted may have to be given back or registered before this node leaves.
    await nodePeers.end()
    await writes.idle()
    waitingHere.end()
    await waitingHere.release()
    await links?.close()
    await membership.end()
    await lines.close()
    remote.end()
    await sideLine.end()
  }

  return {
    now,
    schema: known,
    wakeUps: {
      send() {
        void waitingHere.release().then(() => wakeUps.send())
      },
      receive: (woken) => wakeUps.receive(woken),
    },
    nodeEnds,
    troubles: () =>
      attempt(() =>
        alone(reading, 'troubles', (session) => troublesOf(session, { schema, known, clock: databaseClock })),
      ),
    nodes: () =>
      attempt(() => alone(reading, 'nodes', async (session) => (await membership.list(session)).map(nodeOf))),
    accept: (instance, more) =>
      attempt(() => {
        // A call that starts at once is watched when it is held here.
        if (instance.attempt === instance.settled) remote.accepting(instance.id)
        return acceptance.accept(instance, more)
      }),
    alias: (alias) => attempt(() => aliases.add(alias)),
    get: (id) => attempt(() => current(() => reads.get(id))),
    find: (tenant, owner, requestId) => attempt(() => current(() => reads.find(tenant, owner, requestId))),
    claim: (wanted) => attempt(() => registered(() => claim(wanted))),
    extend: (held, leaseMs) => attempt(() => leases.extend(held, leaseMs)),
    advance: (change) =>
      attempt(() => {
        if (!isTerminal(change.to)) void begunHere.settle(change.id)
        return advances.advance(change)
      }),
    answer: (id, answer, failures) => attempt(() => small.answer(id, answer, failures)),
    progress: (lease, progress) =>
      attempt(() => {
        void begunHere.settle(lease.id)
        return small.progress(lease, progress)
      }),
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
      attempts: (id) => attempt(() => begunHere.settle(id)?.then(() => calls.attempts(id)) ?? calls.attempts(id)),
    },
    peers: links ? { limits: nodePeers.limits, siblings: nodePeers.siblings, pipes: links } : nodePeers,
    close: () => (closing ??= close()),
  }
}

/** This node ends a claim without having started the handler, and any node may take the call. */
function givenBack(instance: Instance, dueAt: number): Change {
  const { id, state, attempt } = instance
  return { id, from: statesBefore(state), to: state, attempt, dueAt, ...settledUnbegun(instance) }
}
