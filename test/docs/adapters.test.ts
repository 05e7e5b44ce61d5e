/**
 * Builds the examples of docs/adapters/add-an-adapter.md and runs their suites. It writes the files of the page to a
 * folder beside the sources, and redirects imports of the sources.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { blocksIn, ROOT, readPage } from './pages.ts'
import { settingOf } from './typed-blocks.ts'

const PAGE = 'docs/adapters/add-an-adapter.md'

const page = readPage(PAGE)
const files = new Map(
  blocksIn(PAGE, page).flatMap((block) => {
    const name = settingOf(block, 'file')
    return name === undefined ? [] : [[name, block.code] as const]
  }),
)

const folder = mkdtempSync(join(ROOT, '.doc-examples-'))
afterAll(() => rmSync(folder, { recursive: true }))

for (const [path, code] of files) {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(
    file,
    code.replaceAll(/(?<=from ')\.[^']+(?=')/g, (target) => leadTo(path, target)),
  )
}

/** An example of the page, or else the file of the repository. */
function leadTo(from: string, target: string): string {
  const wanted = resolve(dirname(from), target)
  const start = dirname(join(folder, from))
  const path = relative(start, join(files.has(wanted) ? folder : ROOT, wanted))
  return path.startsWith('.') ? path : `./${path}`
}

const suites = [...files.keys()].filter((path) => path.endsWith('.test.ts'))
// Importing a test file registers its tests here.
for (const path of suites) await import(join(folder, path))

test('the page has a suite for each kind of adapter', () => {
  expect(suites.map((path) => basename(path))).toEqual([
    'office-hours.test.ts',
    'json-file.test.ts',
    'tcp.test.ts',
    'only-types.test.ts',
    'watched.test.ts',
    'plain-host.test.ts',
    'unix-socket.test.ts',
    'framed-tcp.test.ts',
    'plain.test.ts',
  ])
})

test('the reader sees the file name of every example', () => {
  const shown = [...page.matchAll(/^\*\*(in )?`(\S+)`\*\*\n\n<!-- file: ([^\s;]+).*-->$/gm)]
  const wrong = shown.filter(([, within, name = '', path = '']) =>
    // A piece of a file of the repository is built beside that file.
    within
      ? dirname(path) !== `/${dirname(name)}` || !existsSync(join(ROOT, name))
      : path !== `/${name}` && path !== `/test/doc-examples/${name}`,
  )

  expect(shown.map(([, , , path]) => path)).toEqual([...files.keys()])
  expect(wrong.map(([words]) => words)).toEqual([])
})

test('the page names places that exist', () => {
  const paths = [...page.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path]) => path as string)
  const missing = paths.filter((path) => !existsSync(join(ROOT, path)) && !files.has(`/${path}`))
  const inside = [...page.matchAll(/`(\w+)`\s+(?:in|of)\s+`(src\/[\w/-]+\.ts)`/g)]
  const absent = inside.filter(([, name = '', path = '']) => !readFileSync(join(ROOT, path), 'utf8').includes(name))

  expect(missing).toEqual([])
  expect(inside.length).toBeGreaterThan(8)
  expect(absent.map(([words]) => words)).toEqual([])
})
