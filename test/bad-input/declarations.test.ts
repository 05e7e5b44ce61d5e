/** Invalid declaration files: the loader reports every problem with its place and the next step. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseHttpSettings } from '../../src/backends/http/settings.ts'
import { httpTraits } from '../../src/backends/http/traits.ts'
import { mcpTraits } from '../../src/backends/mcp/traits.ts'
import { wasmTraits } from '../../src/backends/wasm/traits.ts'
import { Fault } from '../../src/core/fault.ts'
import { loadBackendChecks } from '../../src/server/build/backends.ts'
import { loadDeclarations } from '../../src/server/declarations/index.ts'
import { temporaryFolder } from '../cli/processes.ts'

const FEW: Awaited<ReturnType<typeof loadBackendChecks>> = {
  http: { traits: httpTraits, parse: parseHttpSettings },
  wasm: { traits: wasmTraits, parse: () => undefined },
  mcp: { traits: mcpTraits },
}

/** Every problem as `file:line:column  message`, with the file as it was named here. */
async function problemsIn(files: Record<string, string | Uint8Array>, checks = FEW): Promise<string[]> {
  const folder = await temporaryFolder()
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const paths = Object.keys(files).map((name) => join(folder, name))
  const fault = await loadDeclarations(paths, { checks }).then(
    () => undefined,
    (thrown: Fault) => thrown,
  )
  if (!fault) return []
  expect(fault).toBeInstanceOf(Fault)
  const problems = fault.details?.problems as { place: string; message: string }[]
  for (const { place, message } of problems) expect(fault.message).toContain(`${place}  ${message}`)
  return problems.map(({ place, message }) => `${place}  ${message}`.replaceAll(`${folder}/`, ''))
}

const HTTP = 'backend: { kind: http, endpoint: https://tools.example/run }'
const tool = (line: string) => `operation: v1:web.search\n${HTTP}\n${line}\n`

const mistakes: [what: string, text: string, problem: RegExp][] = [
  ['a misspelt field', tool('descripton: x'), /^t\.yaml:3:1 {2}There is no field "descripton"\. Did you mean "desc/],
  ['a misspelt inner field', tool('retry: { attempts: 2, jiter: full }'), /:3:23 {2}.*"retry\.jiter".* "jitter"\?$/],
  [
    'a number for a text',
    tool('version: 1.0'),
    /:3:10 {2}version must be a string, not the number 1\. Put it in quotes/,
  ],
  ['no full version', tool('version: "1.0"'), /:3:10 {2}version: "1\.0" is not a full version\. Write three numbers/],
  ['a text for a number', tool('timeoutMs: 15_000'), /:3:12 {2}timeoutMs must be a whole number .*not a string/],
  ['a text for a flag', tool('public: yes'), /:3:9 {2}public must be true or false/],
  ['a text for a list', tool('scopes: orders:read'), /:3:9 {2}scopes must be a list/],
  ['nothing', tool('title:'), /:3:\d+ {2}title must be a string, not nothing/],
  ['an unknown word', tool('model: asink'), /:3:8 {2}model is "asink"\. Write sync or async\. Did you mean "async"\?/],
  ['no date', tool('deprecated: { sunset: 2026-02-31 }'), /:3:23 {2}deprecated\.sunset.*Write it as/],
  [
    'an error without a meaning',
    tool('errors: { GONE: { remedy: Look again. } }'),
    /:3:\d+ {2}errors\.GONE\.desc.*missing/,
  ],
  ['a list of errors', tool('errors: [GONE]'), /:3:9 {2}errors must be an object/],
  ['an error of the server', tool('errors: { PANIC_X: { description: No. } }'), /:1:1 {2}.*"PANIC_X" needs a letter/],
  ['rules that exclude each other', tool('model: async\nttlSeconds: 0'), /:1:1 {2}v1:web\.search: an async operation/],
  ['a handler', tool('run: search.js'), /:3:1 {2}A declared tool is run by its backend/],
  ['a mistake deep in a schema', tool('args:\n  properties:\n    q: { type: strng }'), /:5:16 {2}The args schema/],
  ['no name', `operaton: v1:a\n${HTTP}`, /:1:1 {2}"operaton" declares nothing\. Did you mean "operation"\?/],
  ['another name', `operation: web.search\n${HTTP}`, /:1:12 {2}.*such as v1:orders\.getItem/],
  ['another file', 'services: { db: { image: postgres } }', /:1:1 {2}This declares nothing\. .*another folder/],
  ['a text', 'search', /:1:1 {2}A declared tool is an object .*not a string/],
  ['no backend', 'operation: v1:a', /:1:1 {2}backend is missing\. Name its backend/],
  [
    'no kind',
    'operation: v1:a\nbackend: { endpoint: x }',
    /:2:10 {2}backend\.kind is missing\. Write one of http, wasm/,
  ],
  ['another kind', 'operation: v1:a\nbackend:\n  kind: htpp', /:3:9 {2}backend\.kind is "htpp".*Did you mean "http"\?/],
  ['an inherited kind', 'operation: v1:a\nbackend: { kind: toString }', /:2:18 {2}backend\.kind is "toString"/],
  ['an MCP server', 'operation: v1:a\nbackend: { kind: mcp }', /:2:18 {2}.*are imported: import: \{ kind: mcp/],
  [
    '"auth" for a tool that cannot use it',
    'operation: v1:a\nbackend: { kind: wasm, module: a.wasm }\nauth: { profile: bearer, secretRef: k }',
    /:1:1 {2}v1:a: a backend of kind wasm does not use "auth"\. A module has no network/,
  ],
  [
    'a bad setting',
    'operation: v1:a\nbackend:\n  kind: http\n  endpoint: x',
    /:4:13 {2}backend\.endpoint must be the URL/,
  ],
  ['an unknown setting', `operation: v1:a\n${HTTP.slice(0, -1)}, x: 1 }`, /:2:6\d {2}backend\.x is not a setting/],
  [
    'a missing header name',
    tool('auth: { profile: api_key_header, secretRef: k }'),
    /:3:7 {2}auth\.headerName is miss/,
  ],
  ['an import without a place', 'import: { kind: mcp, as: "v1:git.*" }', /:1:9 {2}import needs either command/],
  [
    'an import without a name',
    'import: { kind: mcp, url: https://x, as: git }',
    /:1:42 {2}import\.as .*"v1:github\.\*"/,
  ],
  ['both at once', 'operation: v1:a\nimport: {}', /:1:1 {2}.*Split it into two/],
  ['no YAML', 'operation: v1:a\n  b: c', /:1:12 {2}This is not valid YAML: .*indentation/],
  ['a tag', tool('title: !secret x'), /:3:8 {2}Unresolved tag: !secret\. .*leave the tag out/],
  ['a key twice', tool('title: a\ntitle: b'), /:4:1 {2}"title" is a duplicate key, first used at t\.yaml:3:1/],
  ['a reserved key', tool('args: { properties: { __proto__: {} } }'), /:3:23 {2}"__proto__" is a reserved name/],
  ['a list as a key', tool('args: { ? [a] : b }'), /:3:11 {2}A key must be a string/],
  ['a merge', `operation: v1:a\nbackend: &b { kind: wasm }\n<<: *b`, /:3:1 {2}"<<" does not merge/],
  ['no such anchor', tool('args: *none'), /:3:7 {2}.*none/],
  ['an alias of itself', tool('args: &a { not: *a }'), /:3:\d+ {2}\*a refers to a value that contains it/],
  ['no number of JSON', tool('args: { maximum: .inf }'), /:3:18 {2}JSON has no such number/],
  ['nothing at all', '# later\n', /^t\.yaml:1:1 {2}The file declares nothing/],
]

test.each(mistakes)('%s is refused at its place, and nothing else is', async (_what, text, problem) => {
  const problems = await problemsIn({ 't.yaml': text })

  expect(problems).toEqual([expect.stringMatching(problem)])
})

const settings: [kind: string, lines: string, problem: RegExp][] = [
  ['http', 'endpoint: tools.example', /:4:13 {2}backend\.endpoint must be the URL/],
  ['external', 'endpoint: https://tools.example/run\n  maxBytes: 0', /:5:13 {2}backend\.maxBytes must be/],
  ['grpc', 'endpoint: http://tools.example', /:4:13 {2}backend\.endpoint is http: without TLS/],
  ['webhook', 'endpoint: https://tools.example/run\n  callback: { secret: x }', /:5:13 {2}backend\.callback must be/],
  ['container', 'image: tools\n  runArgs: [--privileged]', /:5:12 {2}backend\.runArgs must be/],
  ['wasm', 'modul: ./a.wasm', /:4:10 {2}backend\.modul is not a setting/],
]

test.each(settings)('a bad setting of a backend of kind %s is refused at its place', async (kind, lines, problem) => {
  const text = `operation: v1:a\nbackend:\n  kind: ${kind}\n  ${lines}\n`

  const problems = await problemsIn({ 't.yaml': text }, await loadBackendChecks())

  expect(problems).toEqual([expect.stringMatching(problem)])
})

test('of every kind there is, one is tried above', async () => {
  const kinds = Object.entries(await loadBackendChecks()).filter(([, { parse }]) => parse)

  expect(settings.map(([kind]) => kind)).toEqual(kinds.map(([kind]) => kind))
})

test.each(['secret', 'token', 'password', 'apiKey', 'client_secret', 'value'])(
  'a secret in the file, as auth.%s, is refused without being repeated',
  async (name) => {
    const problems = await problemsIn({ 't.yaml': tool(`auth: { secretRef: a, ${name}: hunter2 }`) })

    expect(problems).toEqual([expect.stringMatching(/^t\.yaml:3:23 {2}auth\..*name it in auth\.secretRef\.$/)])
    expect(problems.join()).not.toContain('hunter2')
  },
)

test('a field that is only misspelt is not taken for a secret', async () => {
  const problems = await problemsIn({ 't.yaml': tool('auth: { secret_ref: search }') })

  expect(problems[0]).toContain('Did you mean "secretRef"?')
})

test('all problems of all files are reported at once, including those of both schemas and of the backend', async () => {
  const broken = `operation: v1:a\nargs: { type: strng }\nresult: { type: strng }\nmodel: x\nbackend: { kind: http }\n`

  const problems = await problemsIn({
    'one.yaml': `${broken}---\noperation: v1:b\n`,
    'two.yaml': '- operation: [',
    'three.yaml': `- operation: v1:c\n  ${HTTP}\n- ${HTTP}\n`,
  })

  expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
    'one.yaml:2:15',
    'one.yaml:3:17',
    'one.yaml:4:8',
    'one.yaml:5:10',
    'one.yaml:7:1',
    'three.yaml:3:3',
    expect.stringMatching(/^two\.yaml:1:\d+$/),
  ])
})

test('an operation that two files declare is refused with both places, and another version of it is not', async () => {
  const problems = await problemsIn({
    'a.yaml': tool(''),
    'b.yaml': `${tool('version: 1.1.0')}---\n${tool('')}`,
  })

  expect(problems).toEqual(['b.yaml:5:12  v1:web.search@1.0.0 is already defined at a.yaml:1:12. Keep one of the two.'])
})

const floods: [what: string, text: () => string | Uint8Array, problem: RegExp][] = [
  ['more than 1 MiB', () => `# ${'x'.repeat(1024 * 1024)}\n${tool('')}`, /larger than 1 MiB/],
  ['a file that is not UTF-8', () => Buffer.from('operation: v1:\xff', 'latin1'), /not UTF-8/],
  ['brackets without end', () => '['.repeat(20_000), /deeper than 64 levels/],
  ['nesting that parses', () => tool(`args: ${'{not: '.repeat(80)}{}${'}'.repeat(80)}`), /deeper than 64 levels/],
  ['aliases of aliases', () => tool(`args: { x-a: &a [1,1,1,1,1,1,1,1,1], ${laughs()} }`), /100000 values/],
  ['a wall of closing brackets', () => '}'.repeat(5_000), /This is not valid YAML/],
]

function laughs(): string {
  const levels = 'abcdefghi'.split('')
  return levels
    .slice(1)
    .map((name, at) => `x-${name}: &${name} [${`*${levels[at]},`.repeat(9)}]`)
    .join(', ')
}

test.each(floods)('%s is refused in few words', async (_what, text, problem) => {
  const problems = await problemsIn({ 't.yaml': text() })

  expect(problems[0]).toMatch(problem)
  expect(problems.length).toBeLessThanOrEqual(5)
  expect(problems.join().length).toBeLessThan(2_000)
})

test('a thousand problems are counted, and the first fifty shown', async () => {
  const folder = await temporaryFolder({ 't.yaml': '- x\n'.repeat(1_000) })

  const loading = loadDeclarations([join(folder, 't.yaml')], { checks: FEW })

  await expect(loading).rejects.toThrow(/^Fix 1000 places [\s\S]*:50:3 [\s\S]*and 950 more$/)
})
