/** Handing out due instances to workers. */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/model.ts'
import type { Claim, Claimed } from '../../core/ports.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import { decodeInstance, type InstanceRow } from './rows.ts'

/** Streaming instances hold leases too, but are never handed out again. */
const DUE = "due_at IS NOT NULL AND state IN ('accepted', 'pending')"

const NO_LIMIT = -1
/** Clocks are corrected by so little all the time; nobody minds waiting it out. */
const CORRECTION_MS = 1_000

/** The first rows that have room, each taken off the slots of its operation. */
function pick(rows: Iterable<InstanceRow>, limit: number, slots: ReadonlyMap<string, number>): InstanceRow[] {
  const left = new Map(slots)
  const picked: InstanceRow[] = []
  for (const row of rows) {
    const room = left.get(row.operation)
    if (room === 0) continue
    if (room !== undefined) left.set(row.operation, room - 1)
    picked.push(row)
    if (picked.length === limit) break
  }
  return picked
}

/**
 * Which operations a node has is asked of a set in memory: a node may have 10,000, too many for a list in SQL, and a
 * table of them would have to follow every rollback.
 */
export function prepareClaim(db: Database, fresh: FreshInstances, now: () => number) {
  const sets = new WeakMap<readonly string[], ReadonlySet<string>>()
  let current: ReadonlySet<string> = new Set()
  db.function('claimable', (operation: string) => (current.has(operation) ? 1 : 0))
  const due = db.prepare<[number, number], InstanceRow>(
    `SELECT * FROM instances WHERE due_at <= ? AND ${DUE} AND claimable(operation) ORDER BY due_at LIMIT ?`,
  )
  const next = db
    .prepare<[number], number>(
      `SELECT due_at FROM instances WHERE due_at >= ? AND ${DUE} AND claimable(operation) ORDER BY due_at LIMIT 1`,
    )
    .pluck()
  const take = db.prepare<[number, string]>(
    "UPDATE instances SET state = 'pending', revision = revision + 1, attempt = attempt + 1, due_at = ? WHERE id = ?",
  )

  // A lease needs no help: its holder renews it by the new time. What nobody runs has no holder.
  const bringForward = db.prepare<[number, number]>(
    'UPDATE instances SET due_at = due_at - ? WHERE due_at > ? AND attempt = settled',
  )
  let lastClaimAt = 0

  /** How far the clock was set back since the last claim: what waits would otherwise wait that much longer. */
  function setBackMs(): number {
    const at = now()
    const backMs = lastClaimAt - at
    lastClaimAt = at
    return backMs > CORRECTION_MS ? backMs : 0
  }

  function claimableOf(operations: readonly string[]): ReadonlySet<string> {
    const known = sets.get(operations) ?? new Set(operations)
    sets.set(operations, known)
    return known
  }

  return {
    claim({ operations, limit, slots, leaseMs }: Claim): Action<Claimed> {
      const backMs = setBackMs()
      return (changed) => {
        current = claimableOf(operations)
        const at = now()
        if (backMs > 0) bringForward.run(backMs, at)
        const dueAt = at + leaseMs
        const rows = slots ? pick(due.iterate(at, NO_LIMIT), limit, slots) : due.all(at, limit)
        const instances = rows.map((row): Instance => {
          take.run(dueAt, row.id)
          fresh.drop(row.id)
          return {
            ...decodeInstance(row),
            state: 'pending',
            revision: row.revision + 1,
            attempt: row.attempt + 1,
            dueAt,
          }
        })
        changed.push(...instances)
        // What comes before is taken or not for this node: it need not be looked at twice.
        const nextDueAt = next.get(rows.length < limit ? at : (rows.at(-1)?.due_at ?? 0))
        return { instances, ...(nextDueAt !== undefined && { nextDueAt }) }
      }
    },
  }
}
