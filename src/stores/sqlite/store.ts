/** The store in one SQLite file, for one process. Reads go straight to the database. Writes share commits. */
import type { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { prepareAcceptance } from './acceptance.ts'
import { prepareAdvance } from './advance.ts'
import { prepareAudit } from './audit.ts'
import { prepareClockSteps } from './clock-steps.ts'
import { prepareDump } from './dump.ts'
import { CommitWitness } from './files/commit-witness.ts'
import { knownSchema } from './files/migrate.ts'
import { type OpenOptions, openDatabase } from './files/open.ts'
import { createFreshInstances } from './fresh-instances.ts'
import { type Action, createGroupCommit } from './group-commit.ts'
import { prepareCallList } from './lists/call-list.ts'
import { OpenCalls } from './open-calls.ts'
import { Owners } from './owners.ts'
import { prepareClaim } from './queue/claim.ts'
import { DueCalls } from './queue/due-calls.ts'
import { prepareLeases } from './queue/leases.ts'
import { prepareRecords } from './records.ts'
import { RequestIndex, type RequestIndexOptions } from './requests/request-index.ts'
import { type Decode, decodeInstance } from './rows.ts'
import { openFault, readFault, writeFault } from './storage-faults.ts'
import { prepareUpkeep } from './upkeep.ts'
import { createWatchers } from './watchers.ts'

export interface SqliteStoreOptions extends OpenOptions {
  clock: Clock
  /** See `GroupCommitOptions`. */
  gatherMs?: number
  index?: Pick<RequestIndexOptions, 'inMemory'>
}

/** Throws a fault that names the file if it is in use, damaged, from a newer version or from another program. */
export function createSqliteStore({ clock, gatherMs = 0, index, ...open }: SqliteStoreOptions): Store {
  const { file, log } = open
  const db = openDatabase(open)
  // If this commit fails, the next one counts it.
  const commitAgain = () => void commits.write(() => undefined).catch(() => undefined)
  const witness = openPart(file, () => new CommitWitness(db, { file, clock, log, commitAgain }), db)
  const now = () => clock.now()
  const watchers = createWatchers(log)
  const owners = new Owners(db)
  const due = new DueCalls()
  const openCalls = new OpenCalls(() => upkeep.countOpen())
  const commits = createGroupCommit(db, {
    witness,
    committed(changed) {
      for (const instance of changed) due.note(instance)
      watchers.tell(changed)
    },
    undone() {
      owners.forget()
      due.doubt()
      openCalls.doubt()
    },
    monotonicMs: () => clock.monotonicMs(),
    recovering: () => leases.prolongAll(),
    gatherMs,
  })
  const fresh = createFreshInstances()
  const decode: Decode = (row) => decodeInstance(row, owners.byRef(row.owner))
  const requests = openPart(file, () => new RequestIndex(db, { write: commits.write, log, ...index }), db, witness)
  const records = prepareRecords(db, now)
  const acceptance = prepareAcceptance(db, { fresh, openCalls, owners, requests, records: records.writes, decode })
  const { claim } = prepareClaim(db, { fresh, openCalls, owners, due, decode, now })
  const audit = prepareAudit(db, owners)
  const { advance, answer } = prepareAdvance(db, { fresh, openCalls, records: records.writes, decode })
  const leases = prepareLeases(db, { fresh, owners, due, decode, now })
  const upkeep = prepareUpkeep(db, { owners, requests, decode, archive: audit.archive })
  const calls = prepareCallList(db, owners, now)
  leases.voidAll()
  const steps = prepareClockSteps(db, fresh, clock)

  /** Queued like a write, so that later writes, whose times are from the new clock, come after it. */
  const followClock = (): Promise<void> | undefined => {
    const stepMs = steps.stepMs()
    if (stepMs === 0) return undefined
    log?.warn({ stepMs }, 'the clock was set; moving the times of open calls by the same amount')
    let tried = false
    return commits
      .write(() => {
        tried = true
        steps.follow(stepMs)
        due.doubt()
      })
      .catch((err: Fault) => {
        // The rest of the transaction was not written either, so the step can be followed later.
        if (!tried || err.code === 'STORAGE_FAILED') steps.undo(stepMs)
        log?.error({ err, stepMs }, 'could not move the times of open calls after the clock was set')
      })
  }

  // Not async, because the extra promises would slow down every write.
  const write = <T>(prepare: () => Action<T>): Promise<T> => {
    try {
      // Once per group: reading both clocks takes a percent of a durable call.
      if (commits.isEmpty) void followClock()
      return commits.write(prepare())
    } catch (thrown) {
      return Promise.reject(writeFault(thrown))
    }
  }
  const read = async <T>(look: () => T): Promise<T> => {
    try {
      return look()
    } catch (thrown) {
      throw readFault(thrown)
    }
  }

  return {
    now,
    schema: knownSchema(),
    dump: prepareDump(db, decode, now),
    accept: (instance, more) => write(() => acceptance.accept(instance, more)),
    alias: (alias) => write(() => acceptance.alias(alias)),
    get: (id) => read(() => acceptance.get(id)),
    find: (tenant, owner, requestId) => read(() => acceptance.find(tenant, owner, requestId, now())),
    claim: (wanted) => write(() => claim(wanted)),
    extend: (held, leaseMs) => write(() => leases.extend(held, leaseMs)),
    advance: (change) => write(() => advance(change)),
    answer: (id, given, failures) => write(() => answer(id, JSON.stringify(given), failures, now())),
    progress: (lease, progress) => write(() => leases.progress(lease, progress)),
    tell: (id) => write(() => leases.tell(id)),
    requestStop: (id) => write(() => leases.requestStop(id)),
    watch: watchers.watch,
    listen: watchers.watchAll,
    async overdue(limit) {
      await followClock()
      return read(() => upkeep.overdue(now(), limit))
    },
    async expire(limit, removeObjects) {
      const ids = await read(() => upkeep.expiring(now(), limit))
      if (ids.length === 0) return 0
      await removeObjects(ids)
      await write(() => upkeep.remove(ids)).then(upkeep.settle)
      return ids.length
    },
    openCounts: () => read(() => openCalls.counts()),
    records: {
      put: (key, value, expiresAt) => write(() => records.put(key, value, expiresAt)),
      get: (key) => read(() => records.get(key)),
      add: (key, value, expiresAt) => write(() => records.add(key, value, expiresAt)),
      replace: (key, expected, value, expiresAt) => write(() => records.replace(key, expected, value, expiresAt)),
      take: (key) => write(() => records.take(key)),
      remove: (key) => write(() => records.remove(key)),
      write: (changes) => write(() => records.write(changes)),
      list: (prefix, limit, after) => read(() => records.list(prefix, limit, after)),
      purge: (limit) => write(() => records.purge(limit)),
    },
    audit: {
      append: (entry) => write(() => audit.append(entry)),
      list: (query) => read(() => audit.list(query)),
      horizon: (query, entries) => read(() => audit.horizon(query, entries)),
      purge: (endedBefore, limit) => write(() => audit.purge(endedBefore, limit)),
    },
    calls: {
      page: (query) => read(() => calls.page(query)),
      count: (query) => read(() => calls.count(query)),
      attempts: (id) => read(() => calls.attempts(id)),
    },
    async close() {
      await requests.stop()
      await commits.end()
      try {
        requests.writeRemovals()
      } catch (err) {
        log?.warn({ err }, 'could not write the index of request ids; it keeps the entries of removed calls')
      }
      db.close()
      witness.close()
    },
  }
}

function openPart<T>(file: string, open: () => T, ...opened: readonly { close(): void }[]): T {
  try {
    return open()
  } catch (thrown) {
    for (const part of opened) part.close()
    throw openFault(thrown, file)
  }
}
