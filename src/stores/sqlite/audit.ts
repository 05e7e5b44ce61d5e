/** The trail of who did what: written once, read by those who ask, removed when it is old. */
import type { Database } from 'better-sqlite3'
import type { AuditEntry, AuditQuery } from '../../core/ports.ts'
import type { Action } from './group-commit.ts'

export function prepareAudit(db: Database) {
  const insert = db.prepare<[string, string, string, string, number, string]>(
    'INSERT INTO audit (id, tenant, owner, operation, ended_at, entry) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const list = db
    .prepare<[string, string, string | null, string | null, number], string>(
      `SELECT entry FROM audit WHERE tenant = ? AND id < ? AND operation = coalesce(?, operation)
         AND owner = coalesce(?, owner) ORDER BY id DESC LIMIT ?`,
    )
    .pluck()
  const purge = db.prepare<[number, number]>(
    'DELETE FROM audit WHERE rowid IN (SELECT rowid FROM audit WHERE ended_at < ? ORDER BY ended_at LIMIT ?)',
  )

  const add = (entry: AuditEntry): void => {
    insert.run(entry.id, entry.tenant, entry.owner, entry.operation, entry.endedAt, JSON.stringify(entry))
  }

  return {
    add,

    append(entry: AuditEntry): Action<void> {
      return () => add(entry)
    },

    list({ tenant, operation, owner, before, limit }: AuditQuery): readonly AuditEntry[] {
      const entries = list.all(tenant, before ?? '\u{10ffff}', operation ?? null, owner ?? null, limit)
      return entries.map((entry) => JSON.parse(entry) as AuditEntry)
    },

    purge(endedBefore: number, limit: number): Action<number> {
      return () => purge.run(endedBefore, limit).changes
    },
  }
}
