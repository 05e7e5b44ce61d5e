/** Actions on all objects of an owner, and the cleanup after a crash. */
import { opendir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { discard, ifPresent, makeFolder, onDisk, removeFolder } from './disk.ts'
import type { Layout } from './layout.ts'

export async function removeOwner(layout: Layout, owner: string): Promise<void> {
  await removeFolder(layout.ownerFolder(owner), layout.unfinished)
}

/** Reads one folder at a time, because there may be a million owners. */
export async function* listOwners(layout: Layout, before: number): AsyncGenerator<string, void, void> {
  for (const shard of (await ifPresent(readdir(layout.owners))) ?? []) {
    const folder = join(layout.owners, shard)
    for await (const { name } of await onDisk(opendir(folder))) {
      const written = await lastWritten(join(folder, name))
      if (written !== undefined && written < before) yield name
    }
  }
}

/**
 * The modification time of a folder changes when a name is added to it. New chunks change the folder one level below.
 */
async function lastWritten(ownerFolder: string): Promise<number | undefined> {
  const names = await ifPresent(readdir(ownerFolder))
  if (!names) return undefined
  const paths = [ownerFolder, ...names.map((name) => join(ownerFolder, name))]
  const all = await Promise.all(paths.map((path) => ifPresent(stat(path))))
  return Math.max(...all.map((stats) => stats?.mtimeMs ?? 0))
}

/**
 * Removes unfinished files last touched before this time, and returns how many. Newer files may belong to a process
 * that is still writing them.
 */
export async function sweepUnfinished(layout: Layout, before: number): Promise<number> {
  await makeFolder(layout.unfinished)
  let removed = 0
  for (const name of await onDisk(readdir(layout.unfinished))) {
    const path = join(layout.unfinished, name)
    const stats = await ifPresent(stat(path))
    if (!stats || stats.mtimeMs >= before) continue
    await discard(path)
    removed += 1
  }
  return removed
}
