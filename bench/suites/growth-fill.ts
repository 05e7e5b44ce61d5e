/** Inserts a million ended calls into a database within seconds, directly into the table that the store created. */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { ownerOf } from '../../src/core/call/caller.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { CALLER } from '../contenders/growth-caller.ts'

export interface Fill {
  instances: number
  /** Unix epoch milliseconds; the store may remove the calls after this time. */
  keepUntil: number
}

const DAY_MS = 86_400_000

export async function fillDatabase(folder: string, { instances, keepUntil }: Fill): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'callplane.db')
  const store = createSqliteStore({
    file,
    clock: { now: Date.now, monotonicMs: () => Math.floor(performance.now()), schedule: () => () => {} },
  })
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
    // Rebuilding each index once at the end is faster than a million updates.
    db.exec(indexes.map(({ name }) => `DROP INDEX ${name};`).join('\n'))
    insert(db, instances, keepUntil)
    db.exec(indexes.map(({ sql }) => `${sql};`).join('\n'))
    db.pragma('journal_mode = WAL')
  } finally {
    db.close()
  }
  // Without this sync, the first sync of the measured server would write all of the file.
  const written = openSync(file, 'r+')
  fsyncSync(written)
  closeSync(written)
}

/** Inserts rows as a complete call of this caller leaves them: ids ascend with time, request ids are random. */
function insert(db: Database.Database, instances: number, keepUntil: number): void {
  const createdAt = keepUntil - DAY_MS
  const { lastInsertRowid: owner } = db
    .prepare('INSERT INTO owners (tenant, owner, caller) VALUES (?, ?, ?)')
    .run('main', ownerOf(CALLER), JSON.stringify(CALLER))
  db.prepare(
    `INSERT INTO instances (id, owner, request_id, operation, fingerprint, state, ended, revision, attempt, settled,
       failures, created_at, expires_at, keep_until, ended_at, model, rerunnable, stop_requested, args, media, lineage,
       outcome, audit)
     WITH RECURSIVE counted (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < @instances)
     SELECT printf('%08x-0000-7000-8000-%s', n, lower(hex(randomblob(6)))), @owner, lower(hex(randomblob(16))),
       'v1:Calculator.AddLater@1.0.0', '', 'complete', 1, 2, 1, 0, 0,
       @createdAt, @keepUntil, @keepUntil, @createdAt, 'async', 1, 0, printf('{"a":%d,"b":1}', n), '[]', '[]',
       printf('{"kind":"result","value":%d}', n + 1), '{}'
     FROM counted`,
  ).run({ instances, owner, createdAt, keepUntil })
}
