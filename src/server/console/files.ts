/**
 * The built files of the console. The folder is listed once, when the server starts: a request can name one of the
 * listed files and nothing else, so no path of a request reaches the file system.
 */
import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ConsoleFiles {
  /** The text of `index.html`. */
  readonly index: string
  /** True for a file that a browser may ask for by its name. */
  has(name: string): boolean
  /** `name` is relative to the folder, with slashes. `undefined` if there is no such file. */
  read(name: string): ConsoleFile | undefined
}

export interface ConsoleFile {
  readonly mediaType: string
  /** The name changes with the content. */
  readonly isHashed: boolean
  readonly tag: string
  readonly plain: Uint8Array
  /** Compressed when the page was built. Absent if the compressed file would be larger. */
  readonly br?: Uint8Array
  readonly gzip?: Uint8Array
}

const INDEX = 'index.html'
/** Compressed copies of other files. */
const COPIES = /\.(?:br|gz)$/

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** `dist/console`, seen from the compiled module and from the sources. */
const FOLDERS = ['../../console/', '../../../dist/console/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

/** `undefined` if the page has not been built. */
export function openConsoleFiles(
  folder: string | undefined = FOLDERS.find((each) => existsSync(join(each, INDEX))),
): ConsoleFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, INDEX))) return undefined
  const names = new Set(listFiles(folder))
  const known = new Map<string, ConsoleFile>()
  return {
    index: readFileSync(join(folder, INDEX), 'utf8'),
    has: (name) => names.has(name) && !COPIES.test(name) && name !== INDEX,
    read(name) {
      const file = known.get(name) ?? readFile(folder, name, names)
      if (file) known.set(name, file)
      return file
    },
  }
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** `undefined` if the file was removed since, as a new build does. */
function readFile(folder: string, name: string, names: ReadonlySet<string>): ConsoleFile | undefined {
  const copy = (ending: string) => (names.has(name + ending) ? readIfThere(join(folder, name + ending)) : undefined)
  const plain = readIfThere(join(folder, name))
  if (!plain) return undefined
  const [br, gzip] = [copy('.br'), copy('.gz')]
  return {
    mediaType: MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
    isHashed: name.startsWith('assets/'),
    tag: tagOf(plain),
    plain,
    ...(br && { br }),
    ...(gzip && { gzip }),
  }
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw thrown
  }
}

/** 128 bits of a hash: an ETag without its quotes. */
export function tagOf(content: Uint8Array | string): string {
  return hash('sha256', content, 'base64url').slice(0, 22)
}
