/** Renews leases. Callers do not see leases, so the revision stays. */
import type { Lease, Renewal } from '../../../core/ports/store.ts'
import { OPEN } from '../calls/rows.ts'
import { type Session, statement } from '../connect/session.ts'
import type { FreshCalls } from '../nodes/fresh-calls.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeText } from '../sql/plain-text.ts'
import { dueSource, putDue, type Tables } from '../tables.ts'
import { alone } from '../writes/alone.ts'
import type { Batches } from '../writes/batches.ts'

export interface LeaseParts {
  tables: Tables
  writes: Batches
  now(): number
  fresh: FreshCalls
}

export function createLeases({ tables, writes, now, fresh }: LeaseParts) {
  const renew = statement(`WITH renewed AS (
      UPDATE ${tables.calls} c SET due_at = $3 FROM unnest($1::text[], $2::int4[]) AS u (id, attempt)
      WHERE c.id = u.id AND c.attempt = u.attempt AND c.due_at IS NOT NULL AND c.state IN (${OPEN})
      RETURNING c.id, c.operation, c.tenant, c.owner, c.due_at, c.expires_at, c.attempt, c.stop_requested, ${dueSource('c')}
    ), due AS (${putDue(tables, 'renewed')}) SELECT id, stop_requested FROM renewed`)
  const stopsOf = statement(
    `SELECT id, stop_requested FROM ${tables.calls} WHERE id = ANY ($1::text[]) AND alias_of IS NULL`,
  )

  async function extend(session: Session, leases: readonly Lease[], dueAt: number): Promise<readonly Renewal[]> {
    const ordered = [...leases].sort((a, b) => (a.id < b.id ? -1 : 1))
    const ids = ordered.map(({ id }) => encodeText(id))
    const attempts = ordered.map(({ attempt }) => attempt)
    const { rows } = await session.query<{ id: string; stop_requested: boolean }>(renew, [
      encodeArray('text', ids),
      encodeArray('int4', attempts),
      dueAt,
    ])
    const held = new Map(rows.map(({ id, stop_requested }) => [id, stop_requested]))
    const lost = ids.filter((id) => !held.has(id))
    const stops = lost.length === 0 ? held : new Map(await readStops(session, lost))
    return leases.map(({ id, attempt }) => {
      const key = encodeText(id)
      return { id, attempt, held: held.has(key), stopRequested: held.get(key) ?? stops.get(key) ?? false }
    })
  }

  async function readStops(session: Session, ids: readonly string[]): Promise<[string, boolean][]> {
    const { rows } = await session.query<{ id: string; stop_requested: boolean }>(stopsOf, [encodeArray('text', ids)])
    return rows.map(({ id, stop_requested }) => [id, stop_requested])
  }

  return {
    async extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Renewal[]> {
      if (leases.length === 0) return []
      const ids = [...new Set(leases.map(({ id }) => id))]
      fresh.registering(ids)
      const lanes = ids.map((id) => `call ${id}`)
      try {
        const renewals = await alone(writes, 'extend', (session) => extend(session, leases, now() + leaseMs), { lanes })
        fresh.registered(renewals.filter(({ held }) => held).map(({ id }) => id))
        return renewals
      } finally {
        fresh.unregistered(ids)
      }
    },
  }
}
