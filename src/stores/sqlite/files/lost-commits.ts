/** Checks at a start that the database still has every acknowledged commit, and reports what is missing. */
import { copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { Fault } from '../../../core/fault.ts'
import type { Log } from '../../../core/ports/runtime.ts'
import { type Mark, markFile, readMark } from './commit-mark.ts'

export interface LossRules {
  /** Continues without the missing commits, and logs them. */
  acceptLoss: boolean
  log: Log | undefined
}

export function logFile(database: string): string {
  return `${database}-wal`
}

/** For a missing or empty database whose mark or log exists. SQLite would remove the log, with its commits. */
export function checkMissingDatabase(file: string, rules: LossRules): void {
  if (bytesOf(file) > 0) return
  const mark = readMark(file)
  const left = mark !== undefined ? markFile(file) : bytesOf(logFile(file)) > 0 ? logFile(file) : undefined
  if (left === undefined) return
  const what = mark === undefined || mark === 'damaged' ? '' : ` It held ${mark.number} commits, ${lastMade(mark)}.`
  refuse(
    `The database ${file} is missing, but ${left} is there.${what} Nothing was changed: put the database back, start empty with --accept-loss (acceptLoss in createServer), or move away all files whose names begin with ${file}.`,
    { file },
    rules,
  )
}

/** Compares the database with the mark beside it. Only for a locked database, before anything is written to it. */
export function checkCommits(db: Database, file: string, rules: LossRules): void {
  const mark = readMark(file)
  const state = hasCommits(db) ? readCommits(db) : undefined
  if (mark === undefined || mark === 'damaged') {
    if (mark === 'damaged' || (state && state.number > 0))
      rules.log?.warn(
        { file: markFile(file) },
        'the file with the number of the last commit is missing or damaged; this start cannot tell whether commits were lost',
      )
    return
  }
  if (state && state.database !== mark.database) {
    refuse(
      `The database ${file} is not the one that was used here last, which had ${mark.number} commits, ${lastMade(mark)}. Nothing was changed: put that one back, or start once with --accept-loss (acceptLoss in createServer) to use this one.`,
      { file, commits: mark.number, until: timeText(mark.at) },
      rules,
    )
    return
  }
  const { number, at } = state ?? { number: 0, at: 0 }
  if (number >= mark.number) return
  const lost = mark.number - number
  const since = number > 0 ? `after ${timeText(at)} and up to` : 'up to'
  refuse(
    `The database ${file} lacks the last ${lost} commits that were acknowledged, made ${since} ${timeText(mark.at)}. Calls that were accepted, outcomes and decisions of that time are missing: the log ${logFile(file)} was damaged or removed, or an older copy of the database was put in place. Nothing was changed: put the files back, or start once with --accept-loss (acceptLoss in createServer) to go on without them.`,
    { file, lostCommits: lost, ...(number > 0 && { since: timeText(at) }), until: timeText(mark.at) },
    rules,
  )
}

export function readCommits(db: Database): Mark {
  const read = db.prepare<[], Mark>('SELECT lower(hex(database)) AS database, number, at FROM commits')
  return read.get() as Mark
}

function hasCommits(db: Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'commits'").get() !== undefined
}

function refuse(message: string, fields: object, { acceptLoss, log }: LossRules): void {
  if (!acceptLoss) throw new Fault('unavailable', message, { code: 'STORAGE_LOST', retryable: false })
  log?.error(fields, 'acknowledged commits are missing; the server starts without them, because loss was accepted')
}

/**
 * Keeps a copy of the log of a database that may be refused, because SQLite removes the log when it closes the
 * database. Returns a function that ends this, and puts the log back if the database was refused and the log is gone.
 */
export function keepLog(file: string): (refused: boolean) => void {
  const log = logFile(file)
  const kept = `${log}-kept`
  if (bytesOf(log) === 0) return () => {}
  rmSync(kept, { force: true })
  try {
    linkSync(log, kept)
  } catch {
    // Not every file system supports links.
    copyFileSync(log, kept)
  }
  return (refused) => {
    if (refused && !existsSync(log)) renameSync(kept, log)
    else rmSync(kept, { force: true })
  }
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function lastMade({ at }: Mark): string {
  return `the last one made at ${timeText(at)}`
}

function timeText(at: number): string {
  return new Date(at).toISOString()
}
