/**
 * Lets writes that are asked for in the same turn share one transaction and one sync of the disk. A write's promise
 * settles after the commit that holds it.
 */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { CommitWitness } from './files/commit-witness.ts'
import { writeFault } from './storage-faults.ts'

/**
 * May run again after a rollback, so it changes nothing but the database, and what `undone` makes good; it adds what it
 * changed to `changed`.
 */
export type Action<T> = (changed: Instance[]) => T

export interface GroupCommit {
  /** Whether the next write begins a new group. */
  readonly isEmpty: boolean
  write<T>(action: Action<T>): Promise<T>
  /** Takes no more writes, and settles when those under way have. */
  end(): Promise<void>
}

interface Write {
  action: Action<unknown>
  resolve(value: unknown): void
  reject(fault: Fault): void
}

/** Bounds how long one transaction keeps the event loop: about 10 µs a write. */
const MAX_WRITES = 500
const COMPANY = 0.8
/** Leases are held for longer than that, so a shorter failure has cost nobody theirs. */
const LONG_FAILURE_MS = 1_000

export interface GroupCommitOptions {
  witness: Pick<CommitWitness, 'begin' | 'count' | 'committed'>
  committed(changed: readonly Instance[]): void
  /** After a transaction that left nothing behind. */
  undone(): void
  monotonicMs(): number
  /** In a transaction of its own, before the first one that is tried after a while in which none could be committed. */
  recovering(): void
  /**
   * How long a commit may wait for as many writes as the last one had; it does not wait unless given. For a store that
   * other processes use: what they send in answer to one commit comes in several pieces, and small commits are dear. A
   * call cost 98 µs of CPU where 16 writes shared a commit, 80 where 32 did and 67 where 64 did.
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
  /** Since when the storage has taken nothing. */
  let failingSince: number | undefined
  /** How many writes the last commit had. */
  let usual = 0
  /** Changed by a commit that was not acknowledged: it counts if the files come back. */
  const unconfirmed: Instance[] = []
  let gathering: NodeJS.Timeout | undefined
  const drained = Promise.withResolvers<void>()

  function gather(): void {
    if (gatherMs === 0 || ending || isCompany()) flush()
    else gathering = setTimeout(flush, gatherMs)
  }

  /** Those who were answered together come back together, but for a few. */
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
   * A batch that cannot be committed is tried again in halves, so that a record that cannot be stored, or one too large
   * for the room that is left, fails alone. Savepoints would not do: SQLite undoes all when it finds no room.
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

  /** What comes next is tried in any case: it may be what makes room. */
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
      // Still open after a failure, unless SQLite has undone it already.
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
