/** Durable file operations in small steps, and the faults for disk errors. It knows nothing of objects. */
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Fault } from '../../core/fault.ts'

/** EFBIG is a limit on the size of files; for the user it is the same as a full disk. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
/** Temporary shortages: no free descriptor, no memory in the kernel. */
const BUSY = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'ENOBUFS', 'EBUSY'])

const BUSY_RETRY_MS = 1_000

/** Only this user may read the files, because they hold callers' data. Windows has no such modes and ignores them. */
export const FILE_MODE = 0o600
export const FOLDER_MODE = 0o700

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export function storageFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  const code = errorCode(error) ?? ''
  const fault = (suffix: string, message: string, retryAfterMs?: number) =>
    new Fault('unavailable', message, {
      code: `STORAGE_${suffix}`,
      ofStorage: true,
      cause: error,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    })
  if (FULL.has(code)) return fault('FULL', 'The server has no storage left; try again when space has been freed.')
  if (BUSY.has(code))
    return fault('BUSY', 'The server has too many files open at the moment; try again shortly.', BUSY_RETRY_MS)
  return fault('FAILED', 'The server could not read or write its storage; its log has the reason. Try again later.')
}

export async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw storageFault(error)
  }
}

/** `undefined` if there is no such file. */
export async function ifPresent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw storageFault(error)
  }
}

/** One write may take only part of the bytes, for example when the disk is almost full. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await onDisk(handle.write(bytes, at))
    at += bytesWritten
  }
}

/** Makes the names in a folder durable. Windows has no such call and needs none. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await onDisk(open(path, 'r'))
  try {
    await onDisk(handle.sync())
  } finally {
    await handle.close()
  }
}

export async function makeFolder(path: string): Promise<void> {
  const created = await onDisk(mkdir(path, { recursive: true, mode: FOLDER_MODE }))
  if (created === undefined) return
  const top = dirname(resolve(created))
  for (let parent = dirname(resolve(path)); ; parent = dirname(parent)) {
    await syncFolder(parent)
    if (parent === top) return
  }
}

export function freshPath(unfinished: string): string {
  return join(unfinished, randomUUID())
}

/** Removes the name at once. If the process crashes before the content is deleted, the sweep deletes it. */
export async function removeFolder(path: string, unfinished: string): Promise<void> {
  const doomed = freshPath(unfinished)
  try {
    await rename(path, doomed)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw storageFault(error)
    // There is nothing to remove, or the folder for unfinished files was deleted.
    await onDisk(rm(path, { recursive: true, force: true }))
    return
  }
  await syncFolder(dirname(path))
  await discard(doomed)
}

export async function discard(path: string): Promise<void> {
  await onDisk(rm(path, { recursive: true, force: true }))
}
