/** A key in a file of its own: it appears whole and durable, or not at all, and is never replaced. */
import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../core/fault.ts'

const KEY_BYTES = 32

/** `loss` says what happens if the key is given up. */
export function readOrCreateKey(file: string, loss: string): Uint8Array {
  const key = readOrCreateFile(file, () => randomBytes(KEY_BYTES))
  if (key.length === KEY_BYTES) return key
  throw new Fault(
    'unavailable',
    `${file} has ${key.length} bytes, where a key has ${KEY_BYTES}. Restore it from a backup, or delete it to have a new one made: ${loss}.`,
    { code: 'KEY_DAMAGED' },
  )
}

/** What `make` gives becomes the file's content if there is no file yet. */
export function readOrCreateFile(file: string, make: () => Uint8Array): Uint8Array {
  return readIfPresent(file) ?? create(file, make())
}

function readIfPresent(file: string): Uint8Array | undefined {
  try {
    return readFileSync(file)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/** Whoever makes it first wins; another process that starts at the same moment reads what that one made. */
function create(file: string, content: Uint8Array): Uint8Array {
  const unfinished = `${file}.${randomUUID()}`
  try {
    writeFileSync(unfinished, content, { flag: 'wx', mode: 0o600, flush: true })
    publish(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
  }
  syncFolder(dirname(file))
  return readFileSync(file)
}

/** A link does not replace what is there, as renaming would; some file systems have none. */
function publish(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'EPERM' || code === 'ENOTSUP' || code === 'ENOSYS') renameSync(unfinished, file)
    else if (code !== 'EEXIST') throw thrown
  }
}

/** Windows has no such call and needs none. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function codeOf(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException).code
}
