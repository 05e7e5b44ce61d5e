/** Renews leases. Callers do not see leases, so the revision stays. */
import type { Lease, Renewal } from '../../../core/ports/store.ts'
import { changeInPlace, type PlaceParts } from '../calls/in-place.ts'
import { OPEN } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import { perGeneration } from '../generations/generations.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeId } from '../sql/ids.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'

export interface LeaseParts extends PlaceParts {
  tables: Tables
  writes: Batches
  now(): number
  fresh: FreshCalls
}

export function createLeases(parts: LeaseParts) {
  const { tables, writes, now, fresh } = parts
  const renew = perGeneration((generation) =>
    statement(`WITH renewed AS (
      UPDATE ${tables.calls(generation)} c SET due_at = $3 FROM unnest($1::uuid[], $2::int4[]) AS u (id, attempt)
      WHERE c.id = u.id AND c.attempt = u.attempt AND c.due_at IS NOT NULL AND c.state IN (${OPEN})
      RETURNING c.id, c.operation, c.due_at, c.expires_at, c.attempt, c.stop_requested, ${dueSource('c')}
    ), due AS (${putDue(tables, generation, 'renewed')}) SELECT id, stop_requested FROM renewed`),
  )

  async function extend(session: Session, leases: readonly Lease[], dueAt: number): Promise<readonly Renewal[]> {
    const ordered = [...leases].sort((a, b) => (a.id < b.id ? -1 : 1))
    const held = new Map<string, boolean>()
    const standing = await changeInPlace(session, parts, ordered, async (generation, group) => {
      const ids = group.map(({ id }) => encodeId(id))
      const attempts = group.map(({ attempt }) => attempt)
      const values = [encodeArray('uuid', ids), encodeArray('int4', attempts), dueAt]
      const { rows } = await session.query<{ id: string; stop_requested: boolean }>(renew(generation), values)
      for (const { id, stop_requested } of rows) held.set(id, stop_requested)
      return held
    })
    return leases.map(({ id, attempt }) => {
      const stopRequested = held.get(id) ?? standing.get(id)?.stop_requested ?? false
      return { id, attempt, held: held.has(id), stopRequested }
    })
  }

  return {
    async extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Renewal[]> {
      if (leases.length === 0) return []
      const ids = [...new Set(leases.map(({ id }) => id))]
      fresh.registering(ids)
      try {
        const renewals = await alone(writes, 'extend', (session) => extend(session, leases, now() + leaseMs), {
          lanes: ids,
        })
        fresh.registered(renewals.filter(({ held }) => held).map(({ id }) => id))
        return renewals
      } finally {
        fresh.unregistered(ids)
      }
    },
  }
}
