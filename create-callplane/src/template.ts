/** The files of a new project that are the same for everyone, apart from the project's name. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Contents by path, relative to the project. */
export type ProjectFiles = ReadonlyMap<string, string>

const TEMPLATES = fileURLToPath(new URL('../template', import.meta.url))

export function readTemplate(kind: 'common' | 'operations' | 'api', name: string): ProjectFiles {
  const folder = join(TEMPLATES, kind)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const text = readFileSync(path, 'utf8').replaceAll('{{name}}', name)
      return [projectPath(path.slice(folder.length + 1)), text]
    }),
  )
}

/** npm leaves `.gitignore` out of packages, so files that begin with a dot have another name here. */
function projectPath(path: string): string {
  return path.replaceAll('\\', '/').replace(/^_/, '.')
}
