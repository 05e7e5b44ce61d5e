/** An object store in its own folder, removed when the test ends. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFileObjects } from '../../src/objects/files/index.ts'
import { systemClock } from '../../src/server/build/environment.ts'

export async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-objects-'))
  return {
    folder,
    objects: createFileObjects({ folder, clock: systemClock }),
    cleanup: () => rm(folder, { recursive: true, force: true }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Every file in the folder, as relative paths. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
