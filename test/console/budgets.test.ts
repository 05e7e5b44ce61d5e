/** What a browser loads: the explorer before its editor, and the console. Counted, not timed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { beforeAll, expect, test, vi } from 'vitest'

/** Of the bundler's output, what is counted. */
interface Script {
  type: 'chunk'
  fileName: string
  code: string
  imports: string[]
  moduleIds: string[]
  viteMetadata?: { importedCss: Set<string> }
}
interface Asset {
  type: 'asset'
  fileName: string
  source: string | Uint8Array
}
type File = Script | Asset

let files: File[]

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-page-'))
  const configFile = join(import.meta.dirname, '../../console/vite.config.ts')
  // Vitest's own setting would build the page with the checks that libraries have for development.
  vi.stubEnv('NODE_ENV', 'production')
  const built = await build({ configFile, logLevel: 'error', build: { outDir: folder, emptyOutDir: true } })
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
  files = (built as unknown as { output: File[] }).output
})

const isScript = (file: File): file is Script => file.type === 'chunk'

/** The script of a module, and all that it imports before it can run. */
function neededBy(module: string): Script[] {
  const scripts = files.filter(isScript)
  const found = new Set<Script>()
  const add = (script: Script | undefined) => {
    if (!script || found.has(script)) return
    found.add(script)
    for (const name of script.imports) add(scripts.find(({ fileName }) => fileName === name))
  }
  add(scripts.find(({ moduleIds }) => moduleIds.some((id) => id.endsWith(module))))
  if (found.size === 0) throw new Error(`No script has ${module}.`)
  return [...found]
}

function kilobytes(some: Iterable<File>): number {
  const bytes = [...some].map((file) => gzipSync(isScript(file) ? file.code : file.source, { level: 9 }).length)
  return bytes.reduce((sum, size) => sum + size, 0) / 1000
}

/** The styles that come with these scripts, and those of the page itself. */
function stylesOf(scripts: Iterable<Script>): File[] {
  const names = new Set([...scripts].flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])]))
  return files.filter(({ fileName }) => names.has(fileName) || /\/index-[^/]*\.css$/.test(fileName))
}

test('the explorer needs at most 110 kB before its editor is asked for', () => {
  const scripts = new Set([...neededBy('console/src/main.tsx'), ...neededBy('console/src/explore/screen.tsx')])
  expect(kilobytes([...scripts, ...stylesOf(scripts)])).toBeLessThan(110)
})

test('the console with all its screens needs at most 150 kB', () => {
  const screens = ['runs', 'run', 'compare', 'approvals', 'dead', 'streams', 'health', 'audit', 'errors', 'settings']
  const needed = screens.flatMap((name) => neededBy(`console/src/${name}/screen.tsx`))
  const scripts = new Set([...needed, ...neededBy('console/src/main.tsx')])
  expect(kilobytes([...scripts, ...stylesOf(scripts)])).toBeLessThan(150)
})
