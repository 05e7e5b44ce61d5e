/** Small values by key. */
import type { Database } from 'better-sqlite3'
import type { Action } from './group-commit.ts'

export function prepareRecords(db: Database, now: () => number) {
  const put = db.prepare<[string, string, number | null]>(
    `INSERT INTO records (key, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  )
  const get = db
    .prepare<[string, number], string>(
      'SELECT value FROM records WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)',
    )
    .pluck()
  const take = db
    .prepare<[string, number], string>(
      'DELETE FROM records WHERE key = ? AND (expires_at IS NULL OR expires_at > ?) RETURNING value',
    )
    .pluck()
  const remove = db.prepare<[string]>('DELETE FROM records WHERE key = ?')
  const purge = db.prepare<[number, number]>(
    'DELETE FROM records WHERE key IN (SELECT key FROM records WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)',
  )

  return {
    put(key: string, value: string, expiresAt: number | undefined): Action<void> {
      return () => void put.run(key, value, expiresAt ?? null)
    },

    get: (key: string): string | undefined => get.get(key, now()),

    take(key: string): Action<string | undefined> {
      return () => take.get(key, now())
    },

    remove(key: string): Action<void> {
      return () => void remove.run(key)
    },

    purge(limit: number): Action<number> {
      return () => purge.run(now(), limit).changes
    },
  }
}
