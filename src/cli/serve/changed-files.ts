/**
 * Reports changed files. It watches their folders, because most editors replace a file instead of writing into it, and
 * a watch on the file itself would stay with the old one.
 */
import { type FSWatcher, watch } from 'node:fs'
import { dirname, join } from 'node:path'

/** A burst of changes ends after this long without one, so that an editor or a build can write all its files. */
const QUIET_MS = 100

export class ChangedFiles {
  readonly #folders = new Map<string, FSWatcher>()
  readonly #matters: (file: string) => boolean
  readonly #changed: (file: string) => void
  #timer: NodeJS.Timeout | undefined

  /** Calls `changed` once per burst, with the last file for which `matters` is true. */
  constructor(matters: (file: string) => boolean, changed: (file: string) => void) {
    this.#matters = matters
    this.#changed = changed
  }

  watchFolderOf(file: string): void {
    this.watchFolder(dirname(file))
  }

  watchFolder(folder: string): void {
    if (this.#folders.has(folder)) return
    const watcher = watch(folder, (_event, name) => {
      if (name !== null) this.#see(join(folder, name))
    })
    // The folder is gone. When it exists again, its files are loaded and reported again.
    watcher.on('error', () => this.#forget(folder))
    this.#folders.set(folder, watcher)
  }

  #see(file: string): void {
    if (!this.#matters(file)) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#changed(file), QUIET_MS)
  }

  #forget(folder: string): void {
    this.#folders.get(folder)?.close()
    this.#folders.delete(folder)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    for (const folder of [...this.#folders.keys()]) this.#forget(folder)
  }
}
