/** Writes the files of a project. Nothing is written if one of them exists already. */
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProjectFiles } from './template.ts'
import { UsageError } from './usage-error.ts'

const SHOWN = 5

export function writeProject(folder: string, files: ProjectFiles): void {
  const taken = [...files.keys()].filter((path) => lstatSync(join(folder, path), { throwIfNoEntry: false }))
  if (taken.length > 0) {
    const more = taken.length > SHOWN ? ` and ${taken.length - SHOWN} more` : ''
    throw new UsageError(
      `${folder} already has ${taken.slice(0, SHOWN).join(', ')}${more}. Name another folder, or remove them.`,
    )
  }
  for (const [path, text] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    // Also refuses a file that appeared since the check.
    writeFileSync(file, text, { flag: 'wx' })
  }
}
