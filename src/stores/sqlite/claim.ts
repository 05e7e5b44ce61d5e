/** Handing out due instances to workers. */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/model.ts'
import type { Claim, Claimed } from '../../core/ports.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import type { Decode, InstanceRow } from './rows.ts'

/** Streaming instances hold leases too, but are never handed out again; what has expired is for the sweeper to end. */
const CLAIMABLE = "due_at IS NOT NULL AND state IN ('accepted', 'pending') AND expires_at > ?"

interface Candidate {
  id: string
  dueAt: number
}

/**
 * Looks at the head of each operation's queue, however long the queues are: a node may lack some operations, and others
 * may be running as often as they may. Reading all queues in one order took 230 ms with 50,000 calls waiting for one
 * slot.
 */
export function prepareClaim(db: Database, fresh: FreshInstances, decode: Decode, now: () => number) {
  const queued = db
    .prepare<[], string>(
      `WITH RECURSIVE queues (operation) AS (
         SELECT min(operation) FROM instances WHERE due_at IS NOT NULL
         UNION ALL
         SELECT (SELECT min(operation) FROM instances WHERE due_at IS NOT NULL AND operation > queues.operation)
         FROM queues WHERE operation IS NOT NULL)
       SELECT operation FROM queues WHERE operation IS NOT NULL`,
    )
    .pluck()
  const head = (more: string) =>
    db.prepare<[number, string, number, number], Candidate>(
      `SELECT id, due_at AS dueAt FROM instances WHERE ${CLAIMABLE} AND operation = ? AND due_at <= ? ${more}
       ORDER BY due_at LIMIT ?`,
    )
  const anyHead = head('')
  const childHead = head("AND lineage <> '[]'")
  const next = db
    .prepare<[number, string, number], number>(
      `SELECT due_at FROM instances WHERE ${CLAIMABLE} AND operation = ? AND due_at > ? ORDER BY due_at LIMIT 1`,
    )
    .pluck()
  const take = db.prepare<[number, string], InstanceRow>(
    `UPDATE instances SET state = 'pending', revision = revision + 1, attempt = attempt + 1, due_at = ? WHERE id = ?
     RETURNING *`,
  )

  const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

  function known(operations: readonly string[]): ReadonlySet<string> {
    const set = sets.get(operations) ?? new Set(operations)
    sets.set(operations, set)
    return set
  }

  /** Child calls come in any case: whoever waits for one holds the slot it would wait for. */
  function headOf(operation: string, { limit, slots, onlyChildren }: Claim, at: number): Candidate[] {
    if (onlyChildren) return childHead.all(at, operation, at, limit)
    const room = slots?.get(operation) ?? limit
    // One more than can be taken says when the next is due.
    if (room >= limit) return anyHead.all(at, operation, at, limit + 1)
    const found = room > 0 ? anyHead.all(at, operation, at, room) : []
    const children = childHead.all(at, operation, at, limit)
    return [...found, ...children.filter((child) => !found.some(({ id }) => id === child.id))]
  }

  return {
    claim(claim: Claim): Action<Claimed> {
      return (changed) => {
        const at = now()
        const mine = known(claim.operations)
        const operations = queued.all().filter((operation) => mine.has(operation))
        const due = operations.flatMap((operation) => headOf(operation, claim, at)).sort((a, b) => a.dueAt - b.dueAt)
        const instances = due.slice(0, claim.limit).map(({ id }): Instance => {
          fresh.drop(id)
          return decode(take.get(at + claim.leaseMs, id) as InstanceRow)
        })
        changed.push(...instances)
        const waiting = operations.flatMap((operation) => next.get(at, operation, at) ?? [])
        const nextDueAt = Math.min(due[claim.limit]?.dueAt ?? Number.POSITIVE_INFINITY, ...waiting)
        return { instances, ...(Number.isFinite(nextDueAt) && { nextDueAt }) }
      }
    },
  }
}
