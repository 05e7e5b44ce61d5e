/** Stores small values by key. */
import type { Database } from 'better-sqlite3'
import type { RecordChange } from '../../core/ports/store.ts'
import type { Action } from './group-commit.ts'

/** Writes records within another transaction. */
export interface RecordWrites {
  /** True if every condition holds. */
  hold(changes: readonly RecordChange[]): boolean
  apply(changes: readonly RecordChange[]): void
}

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
  const add = db.prepare<[string, string, number | null, number]>(
    `INSERT INTO records (key, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
     WHERE records.expires_at <= ?`,
  )
  const replace = db.prepare<[string, number | null, string, string, number]>(
    'UPDATE records SET value = ?, expires_at = ? WHERE key = ? AND value = ? AND (expires_at IS NULL OR expires_at > ?)',
  )
  const list = db.prepare<[string, string, number, number], { key: string; value: string }>(
    `SELECT key, value FROM records WHERE key > ? AND key < ? AND (expires_at IS NULL OR expires_at > ?)
     ORDER BY key LIMIT ?`,
  )
  const take = db
    .prepare<[string, number], string>(
      'DELETE FROM records WHERE key = ? AND (expires_at IS NULL OR expires_at > ?) RETURNING value',
    )
    .pluck()
  const remove = db.prepare<[string]>('DELETE FROM records WHERE key = ?')
  const purge = db.prepare<[number, number]>(
    'DELETE FROM records WHERE key IN (SELECT key FROM records WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)',
  )

  function holds({ key, expected }: RecordChange): boolean {
    return expected === undefined || (get.get(key, now()) ?? null) === expected
  }

  const writes: RecordWrites = {
    hold: (changes) => changes.every(holds),
    apply(changes) {
      for (const { key, value, expiresAt } of changes) {
        if (value === undefined) remove.run(key)
        else put.run(key, value, expiresAt ?? null)
      }
    },
  }

  return {
    writes,

    /** Checks the conditions first, because part of a shared transaction cannot be rolled back. */
    write(changes: readonly RecordChange[]): Action<boolean> {
      return () => {
        const hold = writes.hold(changes)
        if (hold) writes.apply(changes)
        return hold
      }
    },

    put(key: string, value: string, expiresAt: number | undefined): Action<void> {
      return () => void put.run(key, value, expiresAt ?? null)
    },

    get: (key: string): string | undefined => get.get(key, now()),

    add(key: string, value: string, expiresAt: number | undefined): Action<boolean> {
      return () => add.run(key, value, expiresAt ?? null, now()).changes === 1
    },

    replace(key: string, expected: string, value: string, expiresAt: number | undefined): Action<boolean> {
      return () => replace.run(value, expiresAt ?? null, key, expected, now()).changes === 1
    },

    /** Keys compare by their bytes, so all keys with the prefix lie between it and its end. */
    list(prefix: string, limit: number, after: string | undefined) {
      return list.all(after ?? prefix, `${prefix}\u{10ffff}`, now(), limit)
    },

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
