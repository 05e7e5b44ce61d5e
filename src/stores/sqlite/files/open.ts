/** Opens the database file for this process alone. Until it is known to be ours and whole, nothing is written to it. */
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
  /** The database refuses to grow past this; unlimited unless given. */
  maxBytes?: number
  /** How long to wait for another process to let go of the file. */
  lockWaitMs?: number
  /** Opens the database though acknowledged commits are missing, or though it is another than the last time. */
  acceptLoss?: boolean
  log?: Log
}

/** Up to this size a start reads the whole file and finds damage at once; 50 MB took 60 ms. Above, reads find it. */
const CHECKED_BYTES = 64 * 1024 * 1024

/** Two processes that start at once can be in each other's way; then both let go and try again at another moment. */
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

/** For this user alone; SQLite gives its log the mode of the file. Windows has no such modes and ignores it. */
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
 * The header is read by SQLite only. Reading the file beside it would drop the locks of a store that this process
 * may already have on it: POSIX locks go with the first descriptor that is closed.
 */
function openOnce(path: string, maxBytes: number | undefined, rules: LossRules): Database.Database {
  const migrations = readMigrations()
  // SQLite's own waiting would keep half of the lock meanwhile, and two that wait so never get any further.
  const db = new Database(path, { timeout: 0 })
  let endKeeping: ((refused: boolean) => void) | undefined
  try {
    takeLock(db)
    // The log is beside the file that a link leads to.
    endKeeping = keepLog(realpathSync(path))
    const header = readHeader(db)
    checkHeader(header, migrations, path)
    if (!header.empty) checkPages(db, path)
    checkCommits(db, path, rules)
    configure(db)
    migrate(db, migrations, header.version)
    // After that: a migration may need room for both, the old and the new.
    if (maxBytes !== undefined) limitPages(db, maxBytes)
    endKeeping(false)
    return db
  } catch (thrown) {
    db.close()
    endKeeping?.(true)
    throw thrown
  }
}

/** Nothing else is to be done before the store is open. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/**
 * In this mode the first transaction's lock is kept until the connection or the process ends, and the log's index is
 * in memory instead of in a shared file.
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
  // Four times the default: a page that many commits touch is copied back once.
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma('journal_size_limit = 67108864')
  // 32 MB, taken as they are needed: with a million calls that is the index of request ids, which is read at random.
  db.pragma('cache_size = -32768')
}

function limitPages(db: Database.Database, maxBytes: number): void {
  db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes(db)))}`)
}

function pageBytes(db: Database.Database): number {
  return Number(db.pragma('page_size', { simple: true }))
}
