/** Reads all rows in the order in which they were written, page by page. */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/call/instance.ts'
import type { Alias } from '../../core/ports/store.ts'
import type { CallAttempts, DumpedRecord, Page, StoreDump } from '../../core/ports/store-dump.ts'
import type { Decode, InstanceRow } from './rows.ts'

interface AliasRow {
  tenant: string
  owner: string
  request_id: string
  session_id: string | null
  instance_id: string
  expires_at: number
}

export function prepareDump(db: Database, decode: Decode, now: () => number): StoreDump {
  // Prepared on use: servers never need them.
  const prepare = <P extends unknown[], R>(sql: string) => db.prepare<P, R>(sql)
  return {
    tenants: async () =>
      prepare<[], { tenant: string }>('SELECT tenant FROM owners UNION SELECT tenant FROM audit ORDER BY tenant')
        .all()
        .map(({ tenant }) => tenant),

    async calls(limit, after = -1): Promise<Page<Instance>> {
      const sql = 'SELECT * FROM instances WHERE ref > ? ORDER BY ref LIMIT ?'
      const rows = prepare<[number, number], InstanceRow>(sql).all(after, limit)
      return pageOf(rows.map(decode), limit, rows.at(-1)?.ref)
    },

    async attempts(limit, after = -1): Promise<Page<CallAttempts>> {
      const sql = `SELECT ref, id, past, begun_at FROM instances
        WHERE ref > ? AND (past IS NOT NULL OR begun_at IS NOT NULL) ORDER BY ref LIMIT ?`
      const rows = prepare<[number, number], Pick<InstanceRow, 'ref' | 'id' | 'past' | 'begun_at'>>(sql).all(
        after,
        limit,
      )
      const items = rows.map(({ id, past, begun_at: at }) => ({
        id,
        past: JSON.parse(`[${past ?? ''}]`),
        ...(at !== null && { begunAt: at }),
      }))
      return pageOf(items, limit, rows.at(-1)?.ref)
    },

    /** `after` counts aliases: the table has no number of its own, and is small. */
    async aliases(limit, after = 0): Promise<Page<Alias>> {
      const sql = `SELECT owners.tenant, owners.owner, request_id, session_id, instance_id, expires_at
        FROM aliases JOIN owners ON owners.ref = aliases.owner
        WHERE instance_id IN (SELECT id FROM instances) ORDER BY aliases.owner, request_id LIMIT ? OFFSET ?`
      const rows = prepare<[number, number], AliasRow>(sql).all(limit, after)
      return pageOf(rows.map(decodeAlias), limit, after + rows.length)
    },

    async records(limit, after = ''): Promise<readonly DumpedRecord[]> {
      const sql = `SELECT key, value, expires_at FROM records WHERE key > ? AND (expires_at IS NULL OR expires_at > ?)
        ORDER BY key LIMIT ?`
      type Row = { key: string; value: string; expires_at: number | null }
      const rows = prepare<[string, number, number], Row>(sql).all(after, now(), limit)
      return rows.map(({ key, value, expires_at: at }) => ({ key, value, ...(at !== null && { expiresAt: at }) }))
    },
  }
}

function pageOf<T>(items: readonly T[], limit: number, next: number | undefined): Page<T> {
  return { items, ...(items.length === limit && next !== undefined && { next }) }
}

function decodeAlias({ tenant, owner, request_id, session_id, instance_id, expires_at }: AliasRow): Alias {
  return {
    tenant,
    owner,
    requestId: request_id,
    ...(session_id !== null && { sessionId: session_id }),
    instanceId: instance_id,
    expiresAt: expires_at,
  }
}
