/** The trail of who did what: written once, read by those who ask, removed when it is old. */
import type { Database } from 'better-sqlite3'
import type { AuditEntry, AuditQuery } from '../../core/ports.ts'
import type { Action } from './group-commit.ts'

/** How many rows a purge looks at, at most: so many that are not old yet take it 1 ms. */
const PURGE_WINDOW = 10_000

export function prepareAudit(db: Database) {
  const insert = db.prepare<[string, string, string, string, number, string]>(
    'INSERT INTO audit (id, tenant, owner, operation, ended_at, entry) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const list = db.prepare<[string, string, string | null, string | null, number], AuditRow>(
    `SELECT * FROM audit WHERE tenant = ? AND id < ? AND operation = coalesce(?, operation)
       AND owner = coalesce(?, owner) ORDER BY id DESC LIMIT ?`,
  )
  // The first rows are the oldest, but for those of a time when the clock was ahead.
  const purge = db.prepare<[number, number]>(
    `DELETE FROM audit WHERE rowid IN (
       SELECT rowid FROM (SELECT rowid, ended_at FROM audit ORDER BY rowid LIMIT ${PURGE_WINDOW})
       WHERE ended_at < ? LIMIT ?)`,
  )

  const add = (entry: AuditEntry): void => {
    // What has a column of its own is not written twice.
    const { id, tenant, owner, operation, endedAt, ...rest } = entry
    insert.run(id, tenant, owner, operation, endedAt, JSON.stringify(rest))
  }

  return {
    add,

    append(entry: AuditEntry): Action<void> {
      return () => add(entry)
    },

    list({ tenant, operation, owner, before, limit }: AuditQuery): readonly AuditEntry[] {
      const entries = list.all(tenant, before ?? '\u{10ffff}', operation ?? null, owner ?? null, limit)
      return entries.map(decodeEntry)
    },

    purge(endedBefore: number, limit: number): Action<number> {
      return () => purge.run(endedBefore, limit).changes
    },
  }
}

interface AuditRow extends Pick<AuditEntry, 'id' | 'tenant' | 'owner' | 'operation'> {
  ended_at: number
  /** The rest, as JSON. */
  entry: string
}

function decodeEntry({ id, tenant, owner, operation, ended_at, entry }: AuditRow): AuditEntry {
  return { ...JSON.parse(entry), id, tenant, owner, operation, endedAt: ended_at }
}
