/** Lease renewals, progress and stop requests of running attempts. */
import type { Database } from 'better-sqlite3'
import type { Instance, Progress } from '../../../core/call/instance.ts'
import type { Lease, Renewal } from '../../../core/ports/store.ts'
import type { FreshInstances } from '../fresh-instances.ts'
import type { Action } from '../group-commit.ts'
import type { Owners } from '../owners.ts'
import type { Decode, InstanceRow } from '../rows.ts'
import type { DueCalls } from './due-calls.ts'

export interface LeaseParts {
  fresh: FreshInstances
  owners: Owners
  due: DueCalls
  decode: Decode
  now(): number
}

export function prepareLeases(db: Database, { fresh, owners, due, decode, now }: LeaseParts) {
  const renew = db.prepare<[number, string, number], { stop: number; ref: number; operation: string }>(
    `UPDATE instances SET due_at = ? WHERE id = ? AND attempt = ? AND due_at IS NOT NULL AND ended = 0
     RETURNING stop_requested AS stop, owner AS ref, operation`,
  )
  const stopOf = db.prepare<[string], number>('SELECT stop_requested FROM instances WHERE id = ?').pluck()
  const stop = db.prepare<[string], InstanceRow>(
    `UPDATE instances SET stop_requested = 1, revision = revision + 1 WHERE id = ? AND stop_requested = 0 AND ended = 0
     RETURNING *`,
  )
  const byId = db.prepare<[string], InstanceRow>('SELECT * FROM instances WHERE id = ?')
  const tell = db.prepare<[string], InstanceRow>(
    'UPDATE instances SET told = 1, revision = revision + 1 WHERE id = ? AND told = 0 AND ended = 0 RETURNING *',
  )
  const report = db.prepare<[string, string, number], InstanceRow>(
    `UPDATE instances SET progress = ?, revision = revision + 1 WHERE id = ? AND attempt = ? AND ended = 0 RETURNING *`,
  )

  const prolong = db
    .prepare<[number, number], string>(
      'UPDATE instances SET due_at = ? WHERE due_at < ? AND ended = 0 AND attempt > settled RETURNING id',
    )
    .pluck()
  /** The lease time of the last renewal. */
  let usualMs = 30_000

  const forget = db.prepare<[number, number]>(
    'UPDATE instances SET due_at = ? WHERE due_at > ? AND ended = 0 AND attempt > settled',
  )

  return {
    /** Ends all leases at a start. Only one process uses the file, so the holders of earlier leases have ended. */
    voidAll(): void {
      forget.run(now(), now())
    },

    /** Renews all leases after a storage failure, so that their holders can extend them before others may claim. */
    prolongAll(): void {
      const dueAt = now() + usualMs
      for (const id of prolong.all(dueAt, dueAt)) fresh.drop(id)
    },

    /** Does not change the revision, because callers do not see leases. */
    extend(leases: readonly Lease[], leaseMs: number): Action<readonly Renewal[]> {
      usualMs = leaseMs
      return () => {
        const dueAt = now() + leaseMs
        return leases.map(({ id, attempt }) => {
          fresh.drop(id)
          const renewed = renew.get(dueAt, id, attempt)
          const stopRequested = (renewed?.stop ?? stopOf.get(id)) === 1
          // The hub ends the leases of a dead process this way, with 0 ms, so the due time may be earlier than before.
          if (renewed) due.note({ ...owners.byRef(renewed.ref), operation: renewed.operation, dueAt })
          return { id, attempt, held: renewed !== undefined, stopRequested }
        })
      }
    },

    progress({ id, attempt }: Lease, progress: Progress): Action<void> {
      const text = JSON.stringify(progress)
      return (changed) => {
        fresh.drop(id)
        const row = report.get(text, id, attempt)
        if (row) changed.push(decode(row))
      }
    },

    tell(id: string): Action<Instance | undefined> {
      return (changed) => {
        fresh.drop(id)
        const row = tell.get(id)
        if (!row) {
          const standing = byId.get(id)
          return standing && decode(standing)
        }
        const instance = decode(row)
        changed.push(instance)
        return instance
      }
    },

    requestStop(id: string): Action<void> {
      return (changed) => {
        fresh.drop(id)
        const row = stop.get(id)
        if (row) changed.push(decode(row))
      }
    },
  }
}
