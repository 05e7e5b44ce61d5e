/** Stores a key in its own file. The file appears complete and durable, or not at all, and is never replaced. */
import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '../../core/fault.ts'

const KEY_BYTES = 32

/** `loss` tells the operator what follows if the key is deleted. */
export function readOrCreateKey(file: string, loss: string): Uint8Array {
  const key = readOrCreateFile(file, () => randomBytes(KEY_BYTES))
  if (key.length === KEY_BYTES) return key
  throw new Fault(
    'unavailable',
    `${file} has ${key.length} bytes, but a key has ${KEY_BYTES}. Restore it from a backup, or delete it to create a new one: ${loss}.`,
    { code: 'KEY_DAMAGED' },
  )
}

/** Reads the file. If there is none, creates it with the result of `make`. */
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

/** The first process wins: another process that starts at the same moment reads the first one's file. */
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

/** A hard link does not replace an existing file, as a rename would. Some file systems have no hard links. */
function publish(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'EPERM' || code === 'ENOTSUP' || code === 'ENOSYS') renameSync(unfinished, file)
    else if (code !== 'EEXIST') throw thrown
  }
}

/** Windows cannot sync a folder and does not need to. */
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
