/**
 * Builds the console into `dist/console` if its files are absent or older than its sources. `npm run build` and the start
 * of a server in a clone use it. A start with built files does not load Vite.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'dist/console')
/** The hash of the sources that the files were built from. The server does not serve it. */
const SOURCES = '.sources'
/** The page, and what it imports from the server's sources. */
const FOLDERS = ['console', 'src/client', 'src/core', 'src/wire']

/** Returns true if it built the files. */
export async function buildConsole(tell: (line: string) => void = () => {}): Promise<boolean> {
  const sources = hashOfSources()
  if (builtFrom() === sources) return false
  const { build } = await import('vite')
  tell('callplane: building the console, which takes a few seconds the first time')
  // In a folder of its own first: another process may serve the old files, or build at the same time.
  mkdirSync(dirname(OUT), { recursive: true })
  const unfinished = mkdtempSync(`${OUT}-`)
  chmodSync(unfinished, 0o755)
  try {
    await build({
      configFile: join(ROOT, 'console/vite.config.ts'),
      logLevel: 'error',
      build: { outDir: unfinished, emptyOutDir: true },
    })
    writeFileSync(join(unfinished, SOURCES), sources)
    // Another process was faster, and may serve its files already.
    if (builtFrom() === sources) return false
    return putInPlace(unfinished, sources)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/**
 * Another process may put its files there between the two steps. They are the same if the sources are. The old files are
 * moved away in one step, because such a process could add files to a folder that is being removed.
 */
function putInPlace(unfinished: string, sources: string): boolean {
  const old = `${unfinished}-old`
  for (;;) {
    try {
      if (existsSync(OUT)) renameSync(OUT, old)
      renameSync(unfinished, OUT)
      return true
    } catch (thrown) {
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
      if (builtFrom() === sources) return false
    } finally {
      rmSync(old, { recursive: true, force: true })
    }
  }
}

function builtFrom(): string | undefined {
  const file = join(OUT, SOURCES)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function hashOfSources(): string {
  const hash = createHash('sha256')
  for (const folder of FOLDERS) {
    const files = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
    for (const file of files) hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  // A new version of a package changes the files, too.
  return hash.update(readFileSync(join(ROOT, 'package-lock.json'))).digest('hex')
}
