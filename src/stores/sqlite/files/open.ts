/**
 * Opens the database file for this process only. Nothing is written to it before its format and its pages are checked.
 */
import { closeSync, existsSync, openSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import type { Log } from '../../../core/ports/runtime.ts'
import { damaged, openFault, unreachable } from '../storage-faults.ts'
import { checkCommits, checkMissingDatabase, keepLog, type LossRules } from './lost-commits.ts'
import { checkHeader, migrate, readHeader, readMigrations } from './migrate.ts'

export interface OpenOptions {
  /** Its folder must exist. */
  file: string
  /** The database refuses to grow past this size (default: unlimited). */
  maxBytes?: number
  /** How long to wait for another process to release the file. */
  lockWaitMs?: number
  /** Opens the database even if acknowledged commits are missing, or if it is not the database of the last start. */
  acceptLoss?: boolean
  log?: Log
}

/**
 * Up to this size, a start reads the whole file to find damage; 50 MB took 60 ms. In a larger file, reads find damage.
 */
const CHECKED_BYTES = 64 * 1024 * 1024

/**
 * Two processes that start at once can block each other. Then both release the file and try again after a random time.
 */
export function openDatabase({ file, maxBytes, lockWaitMs = 1_000, ...rest }: OpenOptions): Database.Database {
  const path = resolve(file)
  const rules: LossRules = { acceptLoss: rest.acceptLoss ?? false, log: rest.log }
  const giveUpAt = performance.now() + lockWaitMs
  for (;;) {
    try {
      if (!existsSync(dirname(path))) throw unreachable(path)
      checkMissingDatabase(path, rules)
      if (!existsSync(path)) createEmpty(path)
      return openOnce(path, maxBytes, rules)
    } catch (thrown) {
      const fault = openFault(thrown, path)
      if (fault.code !== 'STORAGE_LOCKED' || performance.now() >= giveUpAt) throw fault
      pause(5 + 20 * Math.random())
    }
  }
}

/** Only this user may read it. SQLite gives its log the same mode. Windows ignores modes. */
function createEmpty(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') throw unreachable(path, thrown)
    if (code !== 'EEXIST') throw thrown
  }
}

/**
 * Only SQLite reads the header. If this process already has a store on the file, opening and closing the file here
 * would drop that store's locks: POSIX releases a process's locks when it closes any descriptor of the file.
 */
function openOnce(path: string, maxBytes: number | undefined, rules: LossRules): Database.Database {
  const migrations = readMigrations()
  // While SQLite waits, it keeps half of the lock. Two processes that wait in this way block each other forever.
  const db = new Database(path, { timeout: 0 })
  let endKeeping: ((refused: boolean) => void) | undefined
  try {
    takeLock(db)
    // If the path is a link, the log is beside the target.
    endKeeping = keepLog(realpathSync(path))
    const header = readHeader(db)
    checkHeader(header, migrations, path)
    if (!header.empty) checkPages(db, path)
    checkCommits(db, path, rules)
    configure(db)
    migrate(db, migrations, header.version)
    // After the migration, which may need space for the old and the new tables.
    if (maxBytes !== undefined) limitPages(db, maxBytes)
    endKeeping(false)
    return db
  } catch (thrown) {
    db.close()
    endKeeping?.(true)
    throw thrown
  }
}

/** Blocks the thread: the process has nothing else to do before the store is open. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/**
 * In this mode SQLite keeps the lock of the first transaction until the connection or the process ends. The log's index
 * is in memory instead of in a shared file.
 */
function takeLock(db: Database.Database): void {
  db.pragma('locking_mode = EXCLUSIVE')
  db.exec('BEGIN EXCLUSIVE; COMMIT')
}

function checkPages(db: Database.Database, path: string): void {
  const bytes = Number(db.pragma('page_count', { simple: true })) * pageBytes(db)
  if (bytes > CHECKED_BYTES) return
  const finding = db.pragma('quick_check(1)', { simple: true })
  if (finding !== 'ok') throw damaged(path, finding)
}

function configure(db: Database.Database): void {
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('temp_store = MEMORY')
  // Four times the default, so that a page that many commits change is copied back once.
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma('journal_size_limit = 67108864')
  // 32 MB, allocated when needed: the size of the index of request ids of a million calls, which is read at random.
  db.pragma('cache_size = -32768')
}

function limitPages(db: Database.Database, maxBytes: number): void {
  db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes(db)))}`)
}

function pageBytes(db: Database.Database): number {
  return Number(db.pragma('page_size', { simple: true }))
}
