/** The part of the Python client that is the same for every server, as one text. Its sources are in `runtime`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Each file uses only files before it. */
const FILES = [
  'faults',
  'effects',
  'http1',
  'exchange',
  'drivers',
  'media',
  'events',
  'calls',
  'content',
  'streams',
  'client_base',
  'client',
  'client_async',
]

export interface RuntimeText {
  /** Statements that import the standard library, sorted. */
  readonly imports: readonly string[]
  readonly body: string
}

export function readRuntime(): RuntimeText {
  const imports = new Set<string>()
  const names = new Map<string, Set<string>>()
  const bodies = FILES.map((file) => {
    const lines = readFileSync(join(import.meta.dirname, 'runtime', `${file}.py`), 'utf8').split('\n')
    const start = lines.findIndex((line) => line !== '' && !/^(?:from|import) /.test(line))
    for (const line of lines.slice(0, start)) {
      const [, module, list] = /^from ([\w.]+) import (.+)$/.exec(line) ?? []
      if (module === undefined || list === undefined) {
        if (line !== '') imports.add(line)
      } else if (module !== '__future__' && !module.startsWith('.')) {
        names.set(module, new Set([...(names.get(module) ?? []), ...list.split(', ')]))
      }
    }
    return lines.slice(start).join('\n').trim()
  })
  return { imports: importLines(imports, names), body: bodies.join('\n\n\n') }
}

function importLines(plain: ReadonlySet<string>, names: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const from = [...names].map(([module, list]) => `from ${module} import ${[...list].sort().join(', ')}`)
  return [...[...plain].sort(), ...from.sort()]
}
