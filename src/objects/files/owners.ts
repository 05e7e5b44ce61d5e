/** What concerns everything of one owner at once, and tidying up after a crash. */
import { opendir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { discard, ifPresent, makeFolder, onDisk, removeFolder } from './disk.ts'
import type { Layout } from './layout.ts'

export async function removeOwner(layout: Layout, owner: string): Promise<void> {
  await removeFolder(layout.ownerFolder(owner), layout.unfinished)
}

/** One folder at a time: there may be a million. */
export async function* listOwners(layout: Layout, before: number): AsyncGenerator<string, void, void> {
  for (const shard of (await ifPresent(readdir(layout.owners))) ?? []) {
    const folder = join(layout.owners, shard)
    for await (const { name } of await onDisk(opendir(folder))) {
      const written = await lastWritten(join(folder, name))
      if (written !== undefined && written < before) yield name
    }
  }
}

/** A folder's time moves when a name is added to it; new chunks show one level below. */
async function lastWritten(ownerFolder: string): Promise<number | undefined> {
  const names = await ifPresent(readdir(ownerFolder))
  if (!names) return undefined
  const paths = [ownerFolder, ...names.map((name) => join(ownerFolder, name))]
  const all = await Promise.all(paths.map((path) => ifPresent(stat(path))))
  return Math.max(...all.map((stats) => stats?.mtimeMs ?? 0))
}

/**
 * Removes unfinished files last touched before this time, and says how many. What is younger may belong to another
 * process that is at work on it.
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
