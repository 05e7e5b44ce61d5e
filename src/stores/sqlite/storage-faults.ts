/**
 * Turns SQLite errors into faults. Callers read the messages of a failed write, so these messages name no file. The
 * operator reads the messages of a failed start, so these do.
 */
import Database from 'better-sqlite3'
import { Fault } from '../../core/fault.ts'

/** The primary result code, such as `SQLITE_IOERR` for `SQLITE_IOERR_FSYNC`. Undefined if it is no SQLite error. */
export function sqliteCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Database.SqliteError)) return undefined
  return thrown.code.split('_').slice(0, 2).join('_')
}

/** Codes that concern only this record, not the storage. */
const ABOUT_THE_RECORD = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG', 'SQLITE_RANGE'])

export function writeFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  const code = sqliteCode(thrown)
  if (code === 'SQLITE_FULL') {
    return new Fault(
      'unavailable',
      "The server's storage is full and nothing was recorded. Try again later; the operator has to make room.",
      { code: 'STORAGE_FULL', ofStorage: true, cause: thrown },
    )
  }
  if (code === undefined || ABOUT_THE_RECORD.has(code)) {
    return new Fault('internal', 'This record cannot be stored; the server log has the reason.', { cause: thrown })
  }
  return storageFailed(
    "The server's storage failed and nothing was recorded. Try again later; the server log has the reason.",
    thrown,
  )
}

export function readFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  return storageFailed("The server's storage cannot be read. Try again later; the server log has the reason.", thrown)
}

/** The log tells the operator more. A caller that sends the call again may find that it was recorded. */
export function storageGone(): Fault {
  return new Fault(
    'unavailable',
    "The server's storage was removed while it ran, so nothing can be recorded. Try again later with the same request id; the operator has to put it back.",
    { code: 'STORAGE_GONE', ofStorage: true },
  )
}

function storageFailed(message: string, cause: unknown): Fault {
  return new Fault('unavailable', message, { code: 'STORAGE_FAILED', ofStorage: true, cause })
}

export function openFault(thrown: unknown, file: string): Fault {
  if (thrown instanceof Fault) return thrown
  const code = sqliteCode(thrown)
  const refuse = (reason: string, suffix: string) =>
    new Fault('unavailable', reason, { code: `STORAGE_${suffix}`, retryable: suffix === 'LOCKED', cause: thrown })
  switch (code) {
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return refuse(
        `The database ${file} is in use by another process. Stop that one first, or choose another data folder.`,
        'LOCKED',
      )
    case 'SQLITE_NOTADB':
    case 'SQLITE_CORRUPT':
      return damaged(file, thrown)
    case 'SQLITE_FULL':
      return refuse(`The disk that holds ${file} is full. Free some space and start again.`, 'FULL')
    case 'SQLITE_READONLY':
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_PERM':
      return unreachable(file, thrown)
    default:
      return refuse(`The database ${file} cannot be opened: ${reasonOf(thrown)}. Nothing in it was changed.`, 'FAILED')
  }
}

export function unreachable(file: string, cause?: unknown): Fault {
  return new Fault(
    'unavailable',
    `The database ${file} cannot be opened for writing. Check that its folder exists and that this user may write there.`,
    { code: 'STORAGE_UNREACHABLE', retryable: false, cause },
  )
}

export function damaged(file: string, cause: unknown): Fault {
  return new Fault(
    'unavailable',
    `The file ${file} is damaged or is not a database. Nothing in it was changed: restore it from a backup, or move it and the files whose names begin with ${file} away to start empty.`,
    { code: 'STORAGE_DAMAGED', retryable: false, cause },
  )
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
