/**
 * Puts all writes of one turn of the event loop into one transaction with one disk sync. A write's promise settles
 * after its commit.
 */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { CommitWitness } from './files/commit-witness.ts'
import { writeFault } from './storage-faults.ts'

/**
 * May run again after a rollback, so it changes only the database, and memory that `undone` repairs. It adds the
 * changed instances to `changed`.
 */
export type Action<T> = (changed: Instance[]) => T

export interface GroupCommit {
  /** True if the next write begins a new group. */
  readonly isEmpty: boolean
  write<T>(action: Action<T>): Promise<T>
  /** Accepts no more writes. Settles when the writes under way have settled. */
  end(): Promise<void>
}

interface Write {
  action: Action<unknown>
  resolve(value: unknown): void
  reject(fault: Fault): void
}

/** Bounds how long one transaction blocks the event loop: about 10 µs per write. */
const MAX_WRITES = 500
const COMPANY = 0.8
/** Leases are longer than this, so none has run out during a shorter failure. */
const LONG_FAILURE_MS = 1_000

export interface GroupCommitOptions {
  witness: Pick<CommitWitness, 'begin' | 'count' | 'committed'>
  committed(changed: readonly Instance[]): void
  /** Called after a transaction was rolled back. */
  undone(): void
  monotonicMs(): number
  /** Called in its own transaction, before the first attempt to commit after a longer storage failure. */
  recovering(): void
  /**
   * How long a commit may wait for as many writes as the last one had (default: 0). For a store that other processes
   * use: their next writes after a commit arrive in several pieces, and small commits are expensive. A call took 98 µs
   * of CPU time with 16 writes per commit, 80 µs with 32 and 67 µs with 64.
   */
  gatherMs?: number
}

export function createGroupCommit(
  db: Database,
  { witness, committed, undone, monotonicMs, recovering, gatherMs = 0 }: GroupCommitOptions,
): GroupCommit {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  let waiting: Write[] = []
  let ending = false
  /** When the storage began to fail. */
  let failingSince: number | undefined
  /** The number of writes in the last commit. */
  let usual = 0
  /** Instances of commits that were not acknowledged. Their changes count if the files come back. */
  const unconfirmed: Instance[] = []
  let gathering: NodeJS.Timeout | undefined
  const drained = Promise.withResolvers<void>()

  function gather(): void {
    if (gatherMs === 0 || ending || isCompany()) flush()
    else gathering = setTimeout(flush, gatherMs)
  }

  /** Most senders whose writes were committed together also send their next writes together. */
  function isCompany(): boolean {
    return waiting.length >= usual * COMPANY
  }

  function flush(): void {
    clearTimeout(gathering)
    gathering = undefined
    usual = waiting.length
    const writes = waiting.length > MAX_WRITES ? waiting.splice(0, MAX_WRITES) : waiting
    if (writes === waiting) waiting = []
    else setImmediate(flush)
    commitWrites(writes)
    if (ending && waiting.length === 0) drained.resolve()
  }

  /**
   * If a batch cannot be committed, each half is tried again, so that a record that is invalid, or too large for the
   * free space, fails alone. Savepoints would not help: SQLite rolls back everything when the disk is full.
   */
  function commitWrites(writes: readonly Write[]): void {
    const changed: Instance[] = []
    let values: unknown[]
    try {
      witness.begin()
      if (failingSince !== undefined) recover(failingSince)
      values = transaction(writes, changed)
    } catch (thrown) {
      undone()
      const fault = writeFault(thrown)
      if (fault.kind === 'unavailable') failingSince ??= monotonicMs()
      if (writes.length === 1 || fault.code === 'STORAGE_FAILED' || fault.code === 'STORAGE_GONE') {
        rejectAll(writes, fault)
        return
      }
      const half = Math.ceil(writes.length / 2)
      commitWrites(writes.slice(0, half))
      commitWrites(writes.slice(half))
      return
    }
    try {
      witness.committed()
    } catch (thrown) {
      unconfirmed.push(...changed)
      failingSince ??= monotonicMs()
      rejectAll(writes, writeFault(thrown))
      return
    }
    failingSince = undefined
    for (let i = 0; i < writes.length; i++) writes[i]?.resolve(values[i])
    if (unconfirmed.length > 0) changed.unshift(...unconfirmed.splice(0))
    committed(changed)
  }

  /** If this fails, the next write is still tried, because it may be the one that frees space. */
  function recover(since: number): void {
    if (monotonicMs() - since < LONG_FAILURE_MS) return
    failingSince = monotonicMs()
    try {
      db.transaction(recovering).immediate()
    } catch {
      undone()
    }
  }

  function rejectAll(writes: readonly Write[], fault: Fault): void {
    for (const { reject } of writes) reject(fault)
  }

  function transaction(writes: readonly Write[], changed: Instance[]): unknown[] {
    begin.run()
    try {
      const values = writes.map(({ action }) => action(changed))
      witness.count(writes.length)
      commit.run()
      return values
    } finally {
      // After a failure the transaction is still open, unless SQLite has already rolled it back.
      if (db.inTransaction) rollback.run()
    }
  }

  return {
    get isEmpty() {
      return waiting.length === 0
    },
    write<T>(action: Action<T>): Promise<T> {
      if (ending)
        return Promise.reject(new Fault('unavailable', 'The store is closed. Send this again to a running server.'))
      return new Promise<T>((resolve, reject) => {
        if (waiting.push({ action, resolve: resolve as Write['resolve'], reject }) === 1) setImmediate(gather)
        else if (gathering && isCompany()) {
          clearTimeout(gathering)
          gathering = undefined
          setImmediate(flush)
        }
      })
    },
    end() {
      ending = true
      if (waiting.length === 0) drained.resolve()
      return drained.promise
    },
  }
}
