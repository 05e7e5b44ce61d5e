/** The part of the Go client that is the same for every server, as one text. Its sources are in `runtime`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FILES = [
  'faults',
  'settings',
  'media',
  'exchange',
  'reach',
  'events',
  'calls',
  'content',
  'streams',
  'operations',
  'client',
]

export interface RuntimeText {
  /** The lines of the import block, sorted. */
  readonly imports: readonly string[]
  readonly body: string
}

export function readRuntime(): RuntimeText {
  const imports = new Set<string>()
  const bodies = FILES.map((file) => {
    const text = readFileSync(join(import.meta.dirname, 'runtime', `${file}.go`), 'utf8')
    const [head = '', list = ''] = /^package callplane\n\nimport \(\n([^)]*)\)\n/.exec(text) ?? []
    for (const line of list.split('\n')) if (line !== '') imports.add(line)
    return text.slice(head.length).trim()
  })
  return { imports: [...imports].sort(byPath), body: bodies.join('\n\n') }
}

/** As gofmt sorts them: by path, not by the name that an import is given. */
function byPath(one: string, other: string): number {
  const [left, right] = [one, other].map((line) => /"([^"]+)"/.exec(line)?.[1] ?? '')
  return (left as string) < (right as string) ? -1 : 1
}
