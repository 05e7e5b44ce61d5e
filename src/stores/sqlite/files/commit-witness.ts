/**
 * Makes sure that a commit is acknowledged only if it is in the files that the next start will open. It counts commits,
 * and checks that the database and its log are still in their place.
 */
import { realpathSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { storageGone } from '../storage-faults.ts'
import { CommitMark } from './commit-mark.ts'
import { logFile, readCommits } from './lost-commits.ts'

/**
 * A commit this soon after the last check is not followed by a check of the files (which took 6 % of a durable call's
 * CPU time under load) or by a write of its number (3 %). The number is written this much later.
 */
const CHECK_EVERY_MS = 10
/** A commit with at least this many writes is counted with a later one, which saves another 3 %. */
const MANY_WRITES = 16

export interface CommitWitnessOptions {
  file: string
  clock: Clock
  log: Log | undefined
  /** Commits once more, so that the commits before it are counted. */
  commitAgain(): void
}

export class CommitWitness {
  readonly #options: CommitWitnessOptions
  readonly #mark: CommitMark
  readonly #count
  readonly #totalChanges
  /** With device and inode, because another file with the same name counts as missing. */
  readonly #files: readonly { path: string; dev: number; ino: number }[]
  /** The number of the last commit, and its time. */
  #number: number
  #at: number
  /** Changes this connection had made when the last commit was counted. */
  #changes: number
  /** When the transaction under way was counted, if it was. */
  #countedAt: number | undefined
  #gone = false
  /** Commits since the last counted one. May include a rolled-back one, because the number only has to grow. */
  #uncounted = 0
  #checkedAt = Number.NEGATIVE_INFINITY
  #cancelMark: (() => void) | undefined

  constructor(db: Database, options: CommitWitnessOptions) {
    this.#options = options
    const path = resolve(options.file)
    this.#count = db.prepare<[number, number]>('UPDATE commits SET number = ?, at = ?')
    this.#totalChanges = db.prepare<[], number>('SELECT total_changes()').pluck()
    const state = readCommits(db)
    this.#number = state.number
    this.#at = state.at
    // If the path is a link, SQLite puts the log beside the target.
    const walPath = logFile(realpathSync(path))
    // The log does not exist before the first write. Without it there is nothing to check.
    if (!look(walPath)) this.#count.run(state.number, state.at)
    this.#changes = this.#totalChanges.get() as number
    this.#files = [path, walPath].map((file) => {
      const { dev, ino } = statSync(file)
      return { path: file, dev, ino }
    })
    this.#mark = new CommitMark(path, state, options.log)
  }
  /** Called before a transaction. Nothing is written to files that are known to be missing. */
  begin(): void {
    this.#countedAt = undefined
    if (this.#gone) this.#requireFiles()
  }

  /** Called last in a transaction. A transaction without changes is not counted, so an idle server writes nothing. */
  count(writes: number): void {
    if (writes >= MANY_WRITES && this.#wasJustChecked()) {
      this.#uncounted += 1
      return
    }
    const changes = this.#totalChanges.get() as number
    if (changes === this.#changes && this.#uncounted === 0) return
    this.#countedAt = this.#options.clock.now()
    this.#count.run(this.#number + this.#uncounted + 1, this.#countedAt)
    // Includes the change that was just made. A rollback does not reduce the total.
    this.#changes = changes + 1
  }

  /** Called after the commit, before it is acknowledged. */
  committed(): void {
    if (this.#countedAt !== undefined) {
      this.#number += this.#uncounted + 1
      this.#uncounted = 0
      this.#at = this.#countedAt
    }
    if (!this.#gone && this.#wasJustChecked()) {
      this.#cancelMark ??= this.#options.clock.schedule(CHECK_EVERY_MS, () => this.#markLater())
      return
    }
    this.#writeMark()
    this.#checkedAt = this.#options.clock.monotonicMs()
    this.#requireFiles()
  }

  close(): void {
    this.#writeMark()
    this.#mark.close()
  }

  #wasJustChecked(): boolean {
    return this.#options.clock.monotonicMs() - this.#checkedAt < CHECK_EVERY_MS
  }

  #markLater(): void {
    this.#writeMark()
    if (this.#uncounted > 0) this.#options.commitAgain()
  }

  #writeMark(): void {
    this.#cancelMark?.()
    this.#cancelMark = undefined
    this.#mark.write(this.#number, this.#at)
  }

  #requireFiles(): void {
    const missing = this.#files.find(({ path, dev, ino }) => {
      const found = look(path)
      return found?.ino !== ino || found.dev !== dev
    })
    if ((missing !== undefined) !== this.#gone) this.#tell(missing?.path)
    if (missing) throw storageGone()
  }

  #tell(missing: string | undefined): void {
    this.#gone = missing !== undefined
    if (missing === undefined)
      this.#options.log?.info({}, 'the database is back in its place; calls are recorded again')
    else
      this.#options.log?.error(
        { file: missing },
        'the database was deleted, moved or replaced while the server ran; nothing is recorded until it is back. Put the same file back, or stop the server, restore a backup and start again',
      )
  }
}

/** A folder without access and a missing disk also count as a missing file. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
