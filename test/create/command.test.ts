/** `npm create callplane`: its arguments, its questions, and what it does not overwrite. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OVERRIDES, VERSIONS } from '../../create-callplane/src/manifest.ts'
import { folderWith, make } from './make.ts'

const root = join(import.meta.dirname, '../..')
const manifestAt = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))

test('a named project is made without a question, and the next steps are three commands', async () => {
  const { code, output, read, list } = await make(['shop-tools'])

  expect(code).toBe(0)
  expect(output).toMatch(/cd shop-tools && npm install\n\s+npm test.*\n\s+npm run call/)
  expect(list('shop-tools')).toEqual([
    '.dockerignore',
    '.gitignore',
    'Dockerfile',
    'README.md',
    'client.ts',
    'operations',
    'package.json',
    'policy.yaml',
    'test',
    'tsconfig.json',
  ])
  expect(JSON.parse(read('shop-tools/package.json'))).toMatchObject({
    name: 'shop-tools',
    dependencies: { callplane: manifestAt('package.json').version },
  })
  expect(read('shop-tools/README.md')).toMatch(/^# shop-tools\n/)
})

test('without a name it asks for the folder and for git, and has a default for both', async () => {
  const asked = await make([], folderWith(), 'pets\ny\n')
  const defaults = await make([], folderWith(), '\n\n')
  const silent = await make(['--yes'])

  expect(asked.list('pets')).toContain('.git')
  expect(defaults.list('my-tools')).not.toContain('.git')
  expect(silent.list('my-tools')).toContain('package.json')
})

test('the versions of the packages are those that this repository is tested with', () => {
  const { devDependencies, dependencies, overrides, version, engines } = manifestAt('package.json')
  const own = manifestAt('create-callplane/package.json')

  expect({ ...devDependencies, ...dependencies }).toMatchObject(VERSIONS)
  expect(overrides).toEqual(OVERRIDES)
  expect(own).toMatchObject({ version, engines, dependencies: { yaml: dependencies.yaml } })
})

test('a file that exists is never overwritten, and then nothing is written', async () => {
  const folder = folderWith({ 'pets/policy.yaml': 'mine', 'pets/notes.txt': 'mine' })

  const refused = await make(['pets'], folder)

  expect(refused).toMatchObject({
    code: 2,
    errors: expect.stringContaining('already has policy.yaml. Name another folder'),
  })
  expect(refused.list('pets')).toEqual(['notes.txt', 'policy.yaml'])
})

test('a folder with other files is used', async () => {
  const made = await make(['.'], folderWith({ 'pets/notes.txt': 'mine' }).concat('/pets'))

  expect(made.code).toBe(0)
  expect(made.list('.')).toEqual(expect.arrayContaining(['notes.txt', 'package.json']))
  expect(made.output).toMatch(/^ {2}npm install$/m)
})

test.each([
  [['My Tools'], 'such as my-tools'],
  [['node_modules'], 'such as my-tools'],
  [['a', 'b'], 'Name one folder'],
  [['a', '--form', 'x.yaml'], "Unknown option '--form'"],
  [['a', '--server', 'https://api.example'], 'need --from'],
  [['a', '--from', 'none.yaml'], 'There is no file'],
])('%j is refused with advice', async (args, advice) => {
  const { code, errors, list } = await make(args)

  expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining(advice) })
  expect(list('.')).toEqual([])
})

test('--help lists the options', async () => {
  expect(await make(['--help'])).toMatchObject({ code: 0, output: expect.stringContaining('--from <file or URL>') })
})
