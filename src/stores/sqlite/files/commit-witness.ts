/**
 * Sees to it that a commit is acknowledged only if it is in the files that the next start will open: counts it, and
 * looks whether the database and its log are still where they were.
 */
import { realpathSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { storageGone } from '../storage-faults.ts'
import { CommitMark } from './commit-mark.ts'
import { logFile, readCommits } from './lost-commits.ts'

/**
 * A commit this soon after the last check is not followed by a look at the files (which took 6 % of a durable call's CPU
 * time under load) or by writing its number (3 %). The number is written this much later.
 */
const CHECK_EVERY_MS = 10
/** A commit of so many writes need not be counted itself either (3 %): it is counted with a later one. */
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
  /** By device and inode: a name that leads to another file is no better than none. */
  readonly #files: readonly { path: string; dev: number; ino: number }[]
  /** Of the last commit, and when it was made. */
  #number: number
  #at: number
  /** Changes this connection had made when the last commit was counted. */
  #changes: number
  /** When the transaction under way was counted, if it was. */
  #countedAt: number | undefined
  #gone = false
  /** Commits since the last counted one. One that was undone may be among them: the number only has to grow. */
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
    // SQLite puts the log beside the file that a link leads to.
    const walPath = logFile(realpathSync(path))
    // There may be none before the first write, and then there is nothing to be watched.
    if (!look(walPath)) this.#count.run(state.number, state.at)
    this.#changes = this.#totalChanges.get() as number
    this.#files = [path, walPath].map((file) => {
      const { dev, ino } = statSync(file)
      return { path: file, dev, ino }
    })
    this.#mark = new CommitMark(path, state, options.log)
  }
  /** Before a transaction: nothing is written to files that are known to be gone. */
  begin(): void {
    this.#countedAt = undefined
    if (this.#gone) this.#requireFiles()
  }

  /** Last in a transaction. One that changes nothing is not counted: an idle server writes nothing. */
  count(writes: number): void {
    if (writes >= MANY_WRITES && this.#wasJustChecked()) {
      this.#uncounted += 1
      return
    }
    const changes = this.#totalChanges.get() as number
    if (changes === this.#changes && this.#uncounted === 0) return
    this.#countedAt = this.#options.clock.now()
    this.#count.run(this.#number + this.#uncounted + 1, this.#countedAt)
    // With the one that was just made. A rollback takes none of them back.
    this.#changes = changes + 1
  }

  /** After the commit, and before it is acknowledged. */
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
        'the database was deleted, moved or replaced while the server ran; nothing is recorded until it is back. Put this very file back, or stop the server, restore a backup and start again',
      )
  }
}

/** A folder that may not be entered any more, or a disk that is gone, holds nothing either. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
