/** Documents that are wrong or hostile: each ends with tools that work, or with a reason. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadApplication } from '../../src/cli/serve/application.ts'
import { findModules } from '../../src/cli/serve/modules.ts'
import { folderWith, make } from './make.ts'

const servers = [{ url: 'https://api.example' }]
const ok = { responses: { '200': { description: 'ok' } } }

async function importing(document: object | string, more: Record<string, string> = {}) {
  const text =
    typeof document === 'string'
      ? document
      : JSON.stringify({ openapi: '3.1.0', info: { title: 'T' }, servers, ...document })
  const folder = folderWith({ 'api/openapi.yaml': text, ...more })
  return make(['tools', '--from', 'api/openapi.yaml', '--namespace', 't'], folder)
}

/** As the server loads them, so every declaration is valid. */
async function namesIn(made: { folder: string }): Promise<string[]> {
  const { operations } = await loadApplication(findModules(join(made.folder, 'tools/operations')))
  return operations.map(({ name }) => name).sort()
}

const withBody = (schema: object) => ({
  post: { operationId: 'post', requestBody: { required: true, content: { 'application/json': { schema } } }, ...ok },
})
/** One operation that works beside the one in question. */
const beside = { '/fine': { get: { operationId: 'fine', ...ok } } }

test('a schema that contains itself is kept, one without an end is left out', async () => {
  const schemas = {
    Tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Tree' } } } },
    Loop: { $ref: '#/components/schemas/Loop' },
    Ping: { allOf: [{ $ref: '#/components/schemas/Pong' }] },
    Pong: { anyOf: [{ $ref: '#/components/schemas/Ping' }, { type: 'string' }] },
  }
  const refer = (name: string) => withBody({ $ref: `#/components/schemas/${name}` })
  const paths = { '/tree': refer('Tree'), '/loop': refer('Loop'), '/ping': refer('Ping') }

  const made = await importing({ paths, components: { schemas } })

  expect(await namesIn(made)).toEqual(['v1:t.post'])
  expect(made.read('tools/left-out.txt')).toMatch(
    /POST \/loop: the schema Loop contains itself without an end\nPOST \/ping: .*without an end\n/,
  )
})

test('parameters and paths that refer to each other in a circle are left out', async () => {
  const parameters = { A: { $ref: '#/components/parameters/B' }, B: { $ref: '#/components/parameters/A' } }
  const paths = {
    ...beside,
    '/a': { get: { parameters: [{ $ref: '#/components/parameters/A' }], ...ok } },
    '/b': { $ref: '#/paths/~1b' },
  }

  const made = await importing({ paths, components: { parameters } })

  expect(await namesIn(made)).toEqual(['v1:t.fine'])
  expect(made.read('tools/left-out.txt')).toBe('GET /a: a $ref leads to itself\n/b: a $ref leads to itself\n')
})

test('references stay in the folder of the document', async () => {
  const refs = [
    'schemas/pet.yaml#/Pet',
    '../secret.yaml',
    '/etc/passwd',
    'file:///etc/passwd',
    'https://evil.example/x.yaml',
    '//evil.example/x',
    'link.yaml',
    'none.yaml',
    '#/components/none',
    '#anchor',
  ]
  const paths = Object.fromEntries(refs.map(($ref, index) => [`/p${index}`, withBody({ $ref })]))
  const files = {
    'api/openapi.yaml': JSON.stringify({ openapi: '3.0.0', info: { title: 'T' }, servers, paths }),
    'api/schemas/pet.yaml':
      'Pet: { type: object, properties: { owner: { $ref: "owner.yaml" }, self: { $ref: "#/Pet" } } }',
    'api/schemas/owner.yaml': 'type: string',
    'secret.yaml': 'type: string',
  }
  const folder = folderWith(files)
  symlinkSync(join(folder, 'secret.yaml'), join(folder, 'api/link.yaml'))

  const made = await make(['tools', '--from', 'api/openapi.yaml', '--namespace', 't'], folder)

  expect(await namesIn(made)).toEqual(['v1:t.post'])
  expect(made.read('tools/operations/tools.yaml')).toMatch(/\$ref: "?#\/\$defs\/owner/)
  expect(
    made
      .read('tools/left-out.txt')
      .trim()
      .split('\n')
      .map((line) => line.replace(/^.*? /, '')),
  ).toEqual([
    '/p1: the $ref "../secret.yaml" leads out of the folder of the document',
    '/p2: the $ref "/etc/passwd" leads out of the folder of the document',
    '/p3: the $ref "file:///etc/passwd" leads to another address',
    '/p4: the $ref "https://evil.example/x.yaml" leads to another address',
    '/p5: the $ref "//evil.example/x" leads to another address',
    '/p6: the $ref "link.yaml" leads out of the folder of the document',
    '/p7: the $ref "none.yaml" leads to a file that does not exist',
    '/p8: the $ref "#/components/none" leads nowhere',
    '/p9: the $ref "#anchor" uses an anchor',
  ])
})

test('10,000 paths become 10,000 tools, in files that a server loads', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [
      `/things/${index}/{id}`,
      { get: { tags: [index < 9_900 ? 'many' : 'few'], ...ok } },
    ]),
  )

  const made = await importing({ paths })
  const files = made.list('tools/operations').map((file) => ({ file, text: made.read(`tools/operations/${file}`) }))
  const names = files.flatMap(({ text }) => [...text.matchAll(/^operation: (.+)$/gm)].map(([, name]) => name))
  // The server reads files of up to 1 MiB.
  const tooLarge = files.filter(({ text }) => text.length > 900_000)
  const few = await loadApplication([join(made.folder, 'tools/operations/few.yaml')])

  expect(made.output).toContain('10000 tools')
  expect(new Set(names).size).toBe(10_000)
  expect(files.map(({ file }) => file)).toEqual(expect.arrayContaining(['few.yaml', 'many.yaml', 'many-2.yaml']))
  expect(tooLarge).toEqual([])
  expect(few.operations).toHaveLength(100)
})

test('names that are taken, missing, too long or in use by another protocol are made to fit', async () => {
  const long = 'a'.repeat(300)
  const ids = [
    'get',
    'get',
    'get_v1',
    'get-v1',
    '123',
    'größe',
    '',
    `${long}1`,
    `${long}2`,
    '__proto__',
    'constructor',
    undefined,
  ]
  const paths = Object.fromEntries(ids.map((operationId, index) => [`/p${index}`, { get: { operationId, ...ok } }]))

  const made = await importing({ paths })
  const names = await namesIn(made)

  expect(names).toHaveLength(ids.length)
  expect(names).toEqual(
    expect.arrayContaining(['v1:t.get', 'v1:t.get_2', 'v1:t.tool_123', 'v1:t.constructor', 'v1:t.getP11']),
  )
  expect(made.output).toContain('GET /p1: is called v1:t.get_2, because its operationId is taken')
})

test('a chain of 15,000 references and a wide schema do not break the import', async () => {
  const chain = Object.fromEntries(
    Array.from({ length: 15_000 }, (_, n) => [
      `S${n}`,
      { properties: { next: { $ref: `#/components/schemas/S${n + 1}` } } },
    ]),
  )
  const schemas = { ...chain, S15000: { type: 'string' }, Wide: { enum: Array.from({ length: 200_000 }, (_, n) => n) } }
  const paths = {
    ...beside,
    '/chain': withBody({ $ref: '#/components/schemas/S0' }),
    '/wide': withBody({ $ref: '#/components/schemas/Wide' }),
  }

  const made = await importing({ paths, components: { schemas } })

  expect(await namesIn(made)).toEqual(['v1:t.fine'])
  expect(made.read('tools/left-out.txt')).toBe(
    'POST /chain: its schemas have more than 20000 values\nPOST /wide: its schemas have more than 20000 values\n',
  )
})

const bomb = `openapi: 3.1.0
a: &a [x,x,x,x,x,x,x,x,x,x]
${'bcdefghi'
  .split('')
  .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}*${'abcdefgh'[index]}]`)
  .join('\n')}
paths: {}`

test.each([
  ['a YAML bomb', bomb, 'Excessive alias count'],
  ['deep nesting', `{"openapi":"3.1.0","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'nests deeper than 100 levels'],
  ['broken YAML', 'openapi: [3.1.0', 'is not valid YAML or JSON'],
  ['Swagger 2', 'swagger: "2.0"', 'Convert it to OpenAPI 3'],
  ['something else', 'hello: world', 'is not an OpenAPI 3.0 or 3.1 document'],
  ['nothing', '', 'is not an OpenAPI 3.0 or 3.1 document'],
  ['no operation', JSON.stringify({ openapi: '3.1.0', paths: [] }), 'No operation of the document can become a tool'],
  [
    'a relative server in a file',
    JSON.stringify({ openapi: '3.1.0', paths: { '/a': { get: ok } } }),
    'Name it with --server',
  ],
])('%s is refused, and nothing is written', async (_, document, reason) => {
  const made = await importing(document)

  expect(made).toMatchObject({ code: 2, errors: expect.stringContaining(reason) })
  expect(made.list('.')).toEqual(['api'])
})

test.each([
  [
    'a server with an unknown variable',
    { servers: [{ url: 'https://{tenant}.example' }], get: ok },
    'has a variable without a default',
  ],
  ['a server of another kind', { servers: [{ url: 'file:///etc' }], get: ok }, 'begins with file:'],
  [
    'a password in the address',
    { servers: [{ url: 'https://a:b@api.example' }], get: ok },
    'has a password or a fragment',
  ],
  ['a type of its own', withBody({ type: 'file' }), 'has the type "file"'],
  [
    'a schema that is text',
    { post: { requestBody: { content: { 'application/json': { schema: 'Pet' } } } } },
    'a schema is not an object',
  ],
  ['a property __proto__', withBody(JSON.parse('{"properties":{"__proto__":{}}}')), 'has a property "__proto__"'],
  ['a nameless parameter', { get: { parameters: [{ in: 'query' }], ...ok } }, 'has no "name"'],
  ['several credentials', { get: { security: [{ a: [], b: [] }], ...ok } }, 'several credentials at once'],
  ['an unknown scheme', { get: { security: [{ nothing: [] }], ...ok } }, 'is not defined'],
])('%s leaves one operation out', async (_, item, reason) => {
  const made = await importing({ paths: { ...beside, '/x': item } })

  expect(await namesIn(made)).toEqual(['v1:t.fine'])
  expect(made.read('tools/left-out.txt')).toContain(reason)
})

test('what cannot be checked is left out of a schema, and the tool is kept', async () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string', pattern: '(?i)[', minLength: -1, format: 'odd' },
      b: { minimum: 'x', multipleOf: 0 },
    },
    required: 'a',
    xml: {},
    example: 1,
  }

  const made = await importing({ paths: { '/a': withBody(schema) } })

  expect(await namesIn(made)).toEqual(['v1:t.post'])
  expect(made.read('tools/operations/tools.yaml')).not.toMatch(/pattern|minLength|minimum|multipleOf|xml|example:/)
})

test('control characters of a document do not reach the terminal', async () => {
  const made = await importing({
    info: { title: '\u001b[31mRed\u0007' },
    paths: { ...beside, '/\u001b[2J': { head: ok } },
  })

  expect(made.output).toContain('Red')
  expect([...made.output].filter((char) => char < ' ' && char !== '\n')).toEqual([])
})
