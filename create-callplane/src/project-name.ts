/** The name of a project: that of its folder, as npm accepts it. */
import { basename } from 'node:path'
import { UsageError } from './usage-error.ts'

const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/
const RESERVED: ReadonlySet<string> = new Set(['node_modules', 'favicon.ico', 'callplane', 'create-callplane'])

export function projectName(folder: string): string {
  const name = basename(folder)
  if (NAME.test(name) && !RESERVED.has(name)) return name
  const proposal = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 100)
  const advice = NAME.test(proposal) && !RESERVED.has(proposal) ? proposal : 'my-tools'
  throw new UsageError(
    `"${name}" cannot be the name of a package. Use lower-case letters, digits, ".", "_" and "-", such as ${advice}.`,
  )
}
