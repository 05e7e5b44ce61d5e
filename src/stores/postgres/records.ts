/** Small values by key. */
import type { RecordChange, Records } from '../../core/ports/store.ts'
import { unavailable } from './connect/failures.ts'
import { type Session, statement, transaction } from './connect/session.ts'
import { decodeText, encodeText } from './sql/plain-text.ts'
import type { Tables } from './tables.ts'
import { alone } from './writes/alone.ts'
import type { Batches } from './writes/batches.ts'

/** Writes records within another transaction. */
export interface RecordWrites {
  /** False if a condition does not hold. The caller then rolls back: some of the changes may have been made. */
  apply(session: Session, changes: readonly RecordChange[]): Promise<boolean>
}

interface Written {
  key: string
  value: string
  expiresAt: number | undefined
}

/** Encodes a key, because callers choose parts of some keys. */
const keyOf = encodeText

export interface RecordParts {
  tables: Tables
  writes: Batches
  reads: Batches
  now(): number
}

export function createRecords({ tables, writes, reads, now }: RecordParts): { records: Records; within: RecordWrites } {
  const table = tables.records
  const alive = (name: string) => `(${table}.expires_at IS NULL OR ${table}.expires_at > ${name})`
  const put = statement(`INSERT INTO ${table} (key, value, expires_at) VALUES ($1, $2, $3)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`)
  const add = statement(`INSERT INTO ${table} (key, value, expires_at) VALUES ($1, $2, $3)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
    WHERE ${table}.expires_at <= $4`)
  const replace = statement(
    `UPDATE ${table} SET value = $2, expires_at = $3 WHERE key = $1 AND value = $4 AND ${alive('$5')}`,
  )
  const get = statement(`SELECT value FROM ${table} WHERE key = $1 AND ${alive('$2')}`)
  const list = statement(`SELECT key, value FROM ${table} WHERE key > $1 AND key < $2 AND ${alive('$3')}
    ORDER BY key LIMIT $4`)
  const take = statement(`DELETE FROM ${table} WHERE key = $1 AND ${alive('$2')} RETURNING value`)
  const remove = statement(`DELETE FROM ${table} WHERE key = $1`)
  const removeExpected = statement(`DELETE FROM ${table} WHERE key = $1 AND value = $2 AND ${alive('$3')}`)
  const purge = statement(`DELETE FROM ${table} WHERE key = ANY (ARRAY(
    SELECT key FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))`)

  async function storedValue(session: Session, key: string): Promise<string | undefined> {
    const { rows } = await session.query<{ value: string }>(get, [keyOf(key), now()])
    return rows[0] && decodeText(rows[0].value)
  }

  const insertNew = async (session: Session, { key, value, expiresAt }: Written) =>
    (await session.query(add, [keyOf(key), encodeText(value), expiresAt ?? null, now()])).count === 1

  /** Checks and changes in one step, which a rollback undoes if another condition does not hold. */
  async function change(session: Session, { key, value, expiresAt, expected }: RecordChange): Promise<boolean> {
    if (expected === null) {
      const absent = await insertNew(session, { key, value: value ?? '', expiresAt })
      // Without a value only the condition counts. Until the commit, the insertion keeps others from adding one.
      if (absent && value === undefined) await session.query(remove, [keyOf(key)])
      return absent
    }
    if (expected !== undefined) {
      const was = encodeText(expected)
      const { count } =
        value === undefined
          ? await session.query(removeExpected, [keyOf(key), was, now()])
          : await session.query(replace, [keyOf(key), encodeText(value), expiresAt ?? null, was, now()])
      return count === 1
    }
    if (value === undefined) await session.query(remove, [keyOf(key)])
    else await session.query(put, [keyOf(key), encodeText(value), expiresAt ?? null])
    return true
  }

  const within: RecordWrites = {
    async apply(session, changes) {
      // In the order of keys, so that two transactions do not wait for each other.
      const ordered = [...changes].sort((a, b) => (a.key < b.key ? -1 : 1))
      for (const each of ordered) if (!(await change(session, each))) return false
      return true
    },
  }

  // A key of its own for each: records are written rarely, and in statements of their own.
  function write<T>(keys: readonly string[], run: (session: Session, uncertain: boolean) => Promise<T>): Promise<T> {
    const lanes = [...new Set(keys)].map((key) => `record ${key}`)
    return alone(writes, lanes.join(' '), run, { lanes })
  }

  const read = <T>(run: (session: Session) => Promise<T>) => alone(reads, 'records', run)

  /** After a lost answer: the records are as this change leaves them, so it was made. */
  async function isMade(session: Session, changes: readonly RecordChange[]): Promise<boolean> {
    for (const { key, value } of changes) if ((await storedValue(session, key)) !== value) return false
    return true
  }

  const records: Records = {
    put: (key, value, expiresAt) =>
      write([key], async (session) => {
        await session.query(put, [keyOf(key), encodeText(value), expiresAt ?? null])
      }),
    get: (key) => read((session) => storedValue(session, key)),
    add: (key, value, expiresAt) =>
      write([key], async (session, uncertain) => {
        const added = await insertNew(session, { key, value, expiresAt })
        return added || (uncertain && (await isMade(session, [{ key, value }])))
      }),
    replace: (key, expected, value, expiresAt) =>
      write([key], async (session, uncertain) => {
        const values = [keyOf(key), encodeText(value), expiresAt ?? null, encodeText(expected), now()]
        const { count } = await session.query(replace, values)
        return count === 1 || (uncertain && (await isMade(session, [{ key, value }])))
      }),
    take: (key) =>
      write([key], async (session, uncertain) => {
        const { rows } = await session.query<{ value: string }>(take, [keyOf(key), now()])
        // The first try may have taken it, and its answer was the only copy.
        if (uncertain && rows.length === 0) throw unavailable()
        return rows[0] && decodeText(rows[0].value)
      }),
    remove: (key) =>
      write([key], async (session) => {
        await session.query(remove, [keyOf(key)])
      }),
    write: (changes) =>
      write(
        changes.map(({ key }) => key),
        async (session, uncertain) => {
          const written = await transaction(session, async () => {
            const commit = await within.apply(session, changes)
            return { commit, value: commit }
          })
          return written || (uncertain && (await isMade(session, changes)))
        },
      ),
    list: (prefix, limit, after) =>
      read(async (session) => {
        const from = keyOf(after ?? prefix)
        const values = [from, `${keyOf(prefix)}\u{10ffff}`, now(), limit]
        const { rows } = await session.query<{ key: string; value: string }>(list, values)
        return rows.map(({ key, value }) => ({ key: decodeText(key), value: decodeText(value) }))
      }),
    purge: (limit) => write(['\0purge'], async (session) => (await session.query(purge, [now(), limit])).count),
  }
  return { records, within }
}
