/** Maintenance: calls past their expiry, and the number of open calls. */
import type { Instance } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import { OwnerCounts } from '../../core/fairness/owner-counts.ts'
import type { OpenCounts } from '../../core/ports/store.ts'
import type { CallReads } from './calls/reads.ts'
import { type Session, statement } from './connect/session.ts'
import type { DueRepair } from './queue/due-repair.ts'
import { decodeText } from './sql/plain-text.ts'
import type { Tables } from './tables.ts'
import { alone } from './writes/alone.ts'
import type { Batches } from './writes/batches.ts'

export interface UpkeepParts {
  tables: Tables
  writes: Batches
  batchedReads: Batches
  reads: CallReads
  repair: DueRepair
  now(): number
  /** The open calls that are not in `due`, of all nodes. */
  freshCounts(session: Session): Promise<readonly CountedRow[]>
}

/** The number of open calls of one caller and operation. */
export interface CountedRow {
  tenant: string
  owner: string
  operation: string
  open: number
  queued: number
}

export function createUpkeep({ tables, writes, batchedReads, reads, repair, now, freshCounts }: UpkeepParts) {
  const { due, dueCounts } = tables
  const late = statement(`SELECT id FROM ${due} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2`)
  const count = statement(`SELECT tenant, owner, operation, sum(open)::bigint AS open, sum(queued)::bigint AS queued
    FROM ${dueCounts} GROUP BY 1, 2, 3`)
  // Those that another node folds at this moment are left to it.
  const fold = statement(`WITH gone AS (
      DELETE FROM ${dueCounts} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${dueCounts} FOR UPDATE SKIP LOCKED))
      RETURNING tenant, owner, operation, open, queued
    )
    INSERT INTO ${dueCounts} SELECT tenant, owner, operation, sum(open), sum(queued) FROM gone
    GROUP BY 1, 2, 3 HAVING sum(open) <> 0 OR sum(queued) <> 0`)

  async function overdue(session: Session, limit: number): Promise<readonly Instance[]> {
    for (;;) {
      const { rows } = await session.query<{ id: string }>(late, [now(), limit])
      const ids = rows.map(({ id }) => id)
      if (ids.length === 0) return []
      const found = await reads.many(session, ids)
      const isLate = ({ state, expiresAt }: Instance) => !isTerminal(state) && expiresAt <= now()
      const instances = [...found.values()].filter(isLate).sort((a, b) => a.expiresAt - b.expiresAt)
      if (instances.length === ids.length) return instances
      const removed = await repair(
        session,
        ids.filter((id) => !instances.some((instance) => instance.id === id)),
      )
      // What is left has ended or was extended at this moment. The next round of maintenance sees it.
      if (instances.length > 0 || removed === 0) return instances
    }
  }

  return {
    overdue: (limit: number): Promise<readonly Instance[]> =>
      alone(writes, 'overdue', (session) => overdue(session, limit)),

    openCounts: (): Promise<OpenCounts> =>
      alone(batchedReads, 'count', async (session) => {
        const inDue = (await session.query<CountedRow>(count)).rows.map(decodeCounted)
        await session.query(fold)
        return addUp([...inDue, ...(await freshCounts(session))])
      }),
  }
}

function decodeCounted({ tenant, owner, operation, ...numbers }: CountedRow): CountedRow {
  const [plainTenant, plainOwner, plainOperation] = [tenant, owner, operation].map(decodeText) as [
    string,
    string,
    string,
  ]
  return { tenant: plainTenant, owner: plainOwner, operation: plainOperation, ...numbers }
}

function addUp(rows: readonly CountedRow[]): OpenCounts {
  const byOwner = new OwnerCounts()
  const byOperation = new Map<string, number>()
  let queued = 0
  for (const row of rows) {
    byOwner.add(row, row.open)
    byOperation.set(row.operation, (byOperation.get(row.operation) ?? 0) + row.open)
    queued += row.queued
  }
  for (const [operation, open] of byOperation) if (open === 0) byOperation.delete(operation)
  return { queued, byOwner: byOwner.list(), byOperation }
}
