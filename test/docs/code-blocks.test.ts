/**
 * Checks every code block in the pages: TypeScript with the compiler, YAML with the loaders, JSON and HTTP with a
 * parser, shell commands against the existing commands and flags. A block that cannot be checked says why in a comment
 * above it, and this file lists those blocks. `commands.test.ts` runs the commands of the first pages.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readCells } from '../../src/cli/serve/cells.ts'
import { loadPolicy } from '../../src/security/policy/file.ts'
import { loadBackendChecks } from '../../src/server/build/backends.ts'
import { loadDeclarations } from '../../src/server/declarations/index.ts'
import { type Block, blocksIn, listPages, ROOT, readPage } from './pages.ts'
import { commandsIn, problemWith } from './shell.ts'
import { filesOf, mistakesIn, settingOf } from './typed-blocks.ts'

// One program with all the sources; on a busy machine the compiler takes its time.
vi.setConfig({ testTimeout: 180_000 })

const blocks = listPages().flatMap((page) => blocksIn(page, readPage(page)))
const unchecked = blocks.filter((block) => settingOf(block, 'unchecked') !== undefined)
const checked = blocks.filter((block) => !unchecked.includes(block))
const placeOf = ({ page, line }: Block) => `${page}:${line}`
const inLanguage = (language: string) => checked.filter((block) => block.language === language)

/** The output of the commands in the block before. `commands.test.ts` runs those that need only a server. */
function isOutput(block: Block): boolean {
  const before = blocks[blocks.indexOf(block) - 1]
  return block.language === '' && before?.page === block.page && before.language === 'sh'
}

test('every block is in a language that is checked, or says why it is not', () => {
  // test/codegen/clients runs the programs in Python and Go.
  const known = ['ts', 'yaml', 'json', 'http', 'sh', 'python', 'go']
  const others = checked.filter((block) => !known.includes(block.language) && !isOutput(block))

  expect(others.map(placeOf)).toEqual([])
  expect(unchecked.map((block) => `${block.page}: ${settingOf(block, 'unchecked')}`)).toEqual([
    'ARCHITECTURE.md: a drawing',
    'docs/adapters/add-an-adapter.md: the kind is the example of this page',
    'docs/adapters/carriers/kafka.md: Python',
    'docs/adapters/carriers/mqtt.md: needs a broker',
    'docs/adapters/carriers/mqtt.md: a test loads it into mosquitto',
    'docs/adapters/carriers/webrtc.md: runs in a browser, and test/carriers/webrtc/chromium.test.ts runs it',
    'docs/adapters/objects/s3.md: needs Python and a server that keeps running',
    'docs/adapters/stores/postgres.md: needs a database, and test/stores/postgres/backup.test.ts does the same',
    'docs/adapters/stores/postgres.md: needs a database, and test/stores/postgres/backup.test.ts does the same',
    'docs/guides/declaring-tools.md: shows the messages for a file with mistakes',
  ])
})

test('TypeScript blocks fit the package, and one that calls what does not exist is found', () => {
  const code = `operation('v1:a', { runs: () => 1 })\noperation('v1:b', { run: (_, ctx) => ctx.nothing })\n`
  const wrong = { page: 'docs/wrong.md', line: 10, language: 'ts', code, note: undefined }
  const shown = inLanguage('ts')

  const mistakes = mistakesIn(filesOf([...shown, wrong]))

  expect(shown.length).toBeGreaterThan(25)
  expect(mistakes.filter((mistake) => !mistake.startsWith('docs/wrong.md'))).toEqual([])
  expect(mistakes.map((mistake) => mistake.split(' ', 1)[0])).toEqual(['docs/wrong.md:11', 'docs/wrong.md:12'])
})

test.each(inLanguage('json').map((block) => [placeOf(block), block.code]))(
  'the JSON at %s can be parsed',
  (_, code) => {
    expect(() => JSON.parse(code)).not.toThrow()
  },
)

test.each(inLanguage('http').map((block) => [placeOf(block), block.code]))('the HTTP at %s is a message', (_, code) => {
  const [head = '', body = ''] = code.split('\n\n', 2)
  const [first, ...fields] = head.split('\n')

  expect(first).toMatch(/^(?:(?:GET|POST|DELETE) \/\S*|HTTP\/1\.1 \d{3} \S.*)$/)
  for (const field of fields) expect(field).toMatch(/^[\w-]+: \S/)
  expect(() => JSON.parse(body)).not.toThrow()
})

test.each(inLanguage('yaml').map((block) => [placeOf(block), block.code]))(
  'the YAML at %s is taken',
  async (_, code) => {
    const documents = parseAllDocuments(code).map((document) => document.toJS() as Record<string, unknown>)
    const folder = await mkdtemp(join(tmpdir(), 'callplane-docs-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'block.yaml')
    await writeFile(file, code)

    if (documents.some((document) => 'operation' in document || 'import' in document)) {
      const { operations, imports } = await loadDeclarations([file], { checks: await loadBackendChecks() })
      expect(operations.length + imports.length).toBe(documents.length)
    } else if (documents.some((document) => 'default' in document)) {
      await expect(loadPolicy(file)).resolves.toBeDefined()
    } else if (documents.some((document) => 'cells' in document)) {
      expect(readCells(file, 'a')).toMatchObject({ cells: [{ name: 'a' }, { name: 'b' }] })
    } else {
      // Of another program, such as Orloj's resources.
      expect(documents.every((document) => typeof document.kind === 'string')).toBe(true)
    }
  },
)

test('shell blocks use commands, scripts and flags that exist', async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const problems: string[] = []
  for (const block of inLanguage('sh')) {
    for (const words of commandsIn(block.code)) {
      const problem = await problemWith(words, Object.keys(scripts))
      if (problem) problems.push(`${placeOf(block)} ${problem}`)
    }
  }

  expect(problems).toEqual([])
})

test('a script, a command and a flag that do not exist are found', async () => {
  const code = `npm run nothing # a comment\ncallplane serv ops/\ncallplane call v1:A --arguments '{"a": 1}' | cat\n`

  const problems = await Promise.all(commandsIn(code).map((words) => problemWith(words, ['test'])))

  expect(problems).toEqual([
    'package.json has no script nothing',
    'callplane has no command serv',
    'callplane call has no flag --arguments',
    'cat is no known program',
  ])
})
