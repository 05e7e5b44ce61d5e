/** Puts a million ended calls into a database in seconds, straight into the table as the store has made it. */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'

export interface Fill {
  instances: number
  /** Unix epoch milliseconds; past that they may be removed. */
  keepUntil: number
}

const DAY_MS = 86_400_000

export async function fillDatabase(folder: string, { instances, keepUntil }: Fill): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'callplane.db')
  const store = createSqliteStore({ file, clock: { now: Date.now, schedule: () => () => {} } })
  await store.close()
  const db = new Database(file)
  try {
    db.pragma('synchronous = OFF')
    db.pragma('journal_mode = MEMORY')
    db.pragma('cache_size = -400000')
    const indexes = db
      .prepare<[], { name: string; sql: string }>(
        `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'instances' AND sql IS NOT NULL`,
      )
      .all()
    // Sorted once at the end instead of a million times in between.
    db.exec(indexes.map(({ name }) => `DROP INDEX ${name};`).join('\n'))
    insert(db, instances, keepUntil)
    db.exec(AUDIT)
    db.exec(indexes.map(({ sql }) => `${sql};`).join('\n'))
    db.pragma('journal_mode = WAL')
  } finally {
    db.close()
  }
  // Or the first sync of whoever is measured would write all of it.
  const written = openSync(file, 'r+')
  fsyncSync(written)
  closeSync(written)
}

/** Every call leaves an entry in the trail, which outlives it. */
const AUDIT = `INSERT INTO audit (id, tenant, owner, operation, ended_at, entry)
  SELECT id, tenant, owner, operation, ended_at, json_object('id', id, 'tenant', tenant, 'owner', owner,
    'requestId', request_id, 'operation', operation, 'fingerprint', fingerprint, 'verdict', 'allow',
    'backend', 'handler', 'attempts', 1, 'outcome', 'complete', 'startedAt', created_at, 'endedAt', ended_at)
  FROM instances`

/** As a call of the anonymous caller lies there once it is complete: ids ascend with time, request ids are random. */
function insert(db: Database.Database, instances: number, keepUntil: number): void {
  const createdAt = keepUntil - DAY_MS
  db.prepare(
    `INSERT INTO instances (id, tenant, owner, caller, request_id, operation, model, args, media, fingerprint, lineage,
       state, ended, revision, attempt, settled, failures, rerunnable, stop_requested, outcome,
       created_at, expires_at, keep_until, due_at, ended_at)
     WITH RECURSIVE counted (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < @instances)
     SELECT printf('%08x-0000-7000-8000-%s', n, lower(hex(randomblob(6)))), 'main', 'none|anonymous',
       '{"tenant":"main","issuer":"none","subject":"anonymous","scopes":["*"]}',
       lower(hex(randomblob(16))),
       'v1:Calculator.AddLater@1.0.0', 'async', printf('{"a":%d,"b":1}', n), '[]', lower(hex(randomblob(32))), '[]',
       'complete', 1, 1, 1, 0, 0, 1, 0, printf('{"kind":"result","value":%d}', n + 1),
       @createdAt, @keepUntil, @keepUntil, NULL, @createdAt
     FROM counted`,
  ).run({ instances, createdAt, keepUntil })
}
