/** Maintenance: calls past their expiry, calls to remove, and the number of open calls. */
import type { Instance } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import { OwnerCounts } from '../../core/fairness/owner-counts.ts'
import type { OpenCounts } from '../../core/ports/store.ts'
import { type Audit, ENTRY_COLUMNS, type EntryRow } from './audit.ts'
import type { CallReads } from './calls/reads.ts'
import { ENDED, OPEN } from './calls/rows.ts'
import { type Session, statement, transaction } from './connect/session.ts'
import { encodeArray } from './sql/arrays.ts'
import { decodeText } from './sql/plain-text.ts'
import type { Tables } from './tables.ts'
import { alone } from './writes/alone.ts'
import type { Batches } from './writes/batches.ts'

export interface UpkeepParts {
  tables: Tables
  writes: Batches
  batchedReads: Batches
  reads: CallReads
  audit: Audit
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

/** An open call past its retention is looked at again after this time. Its end brings it forward. */
const LOOK_AGAIN_MS = 60_000

export function createUpkeep({ tables, writes, batchedReads, reads, audit, now, freshCounts }: UpkeepParts) {
  const { calls, due, dueCounts } = tables
  const late = statement(`SELECT id FROM ${due} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2`)
  const forgetEnded = statement(`DELETE FROM ${due} WHERE id = ANY ($1::text[])
    AND NOT EXISTS (SELECT FROM ${calls} c WHERE c.id = ${due}.id AND c.state IN (${OPEN}))`)
  const swept = statement(`SELECT id, keep_until, state IN (${ENDED}) AS ended FROM ${calls}
    WHERE sweep_at <= $1 ORDER BY sweep_at LIMIT $2`)
  const postpone = statement(`UPDATE ${calls} SET sweep_at = greatest(keep_until, $2::bigint)
    WHERE id = ANY ($1::text[]) AND (keep_until > $3 OR state IN (${OPEN}))`)
  const removeAliases = statement(`DELETE FROM ${calls} WHERE alias_of = ANY ($1::text[])`)
  const remove =
    statement(`DELETE FROM ${calls} WHERE id = ANY ($1::text[]) AND state IN (${ENDED}) AND keep_until <= $2
    RETURNING ${ENTRY_COLUMNS}`)
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
      const found = await reads.many(session, ids.map(decodeText))
      const isLate = ({ state, expiresAt }: Instance) => !isTerminal(state) && expiresAt <= now()
      const instances = [...found.values()].filter(isLate).sort((a, b) => a.expiresAt - b.expiresAt)
      if (instances.length === ids.length) return instances
      const { count: removed } = await session.query(forgetEnded, [encodeArray('text', ids)])
      // What is left has ended or was extended at this moment. The next round of maintenance sees it.
      if (instances.length > 0 || removed === 0) return instances
    }
  }

  /** The ids of calls to remove, oldest first. Calls that were extended since are put back on the way. */
  async function expiring(session: Session, limit: number): Promise<readonly string[]> {
    const at = now()
    for (;;) {
      const { rows } = await session.query<{ id: string; keep_until: number; ended: boolean }>(swept, [at, limit])
      const isOver = ({ ended, keep_until }: (typeof rows)[number]) => ended && keep_until <= at
      const over = rows.filter(isOver).sort((a, b) => a.keep_until - b.keep_until)
      const rest = rows.filter((row) => !isOver(row)).map(({ id }) => id)
      if (rest.length === 0) return over.map(({ id }) => id)
      await session.query(postpone, [encodeArray('text', rest), at + LOOK_AGAIN_MS, at])
    }
  }

  async function removeAll(session: Session, ids: readonly string[]): Promise<void> {
    const list = encodeArray('text', [...ids].sort())
    await transaction(session, async () => {
      const { rows } = await session.query<EntryRow & { audit: string | null }>(remove, [list, now()])
      await session.query(removeAliases, [encodeArray('text', rows.map(({ id }) => id).sort())])
      await audit.archive(
        session,
        rows.filter((row): row is EntryRow => row.audit !== null),
      )
      return { commit: true, value: undefined }
    })
  }

  return {
    overdue: (limit: number): Promise<readonly Instance[]> =>
      alone(writes, 'overdue', (session) => overdue(session, limit)),

    async expire(limit: number, removeObjects: (ids: readonly string[]) => Promise<void>): Promise<number> {
      const ids = await alone(writes, 'expiring', (session) => expiring(session, limit))
      if (ids.length === 0) return 0
      await removeObjects(ids.map(decodeText))
      const lanes = ids.map((id) => `call ${decodeText(id)}`)
      await alone(writes, 'expire', (session) => removeAll(session, ids), { lanes })
      return ids.length
    },

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
