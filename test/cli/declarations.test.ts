import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isYaml } from '../../src/cli/serve/modules.ts'
import { operation } from '../../src/core/operation/define.ts'
import { loadBackendChecks } from '../../src/server/build/backends.ts'
import { loadDeclarations } from '../../src/server/declarations/index.ts'
import { callOver, runProcess, SOURCE, serveProcess, temporaryFolder } from './processes.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const EXAMPLE = join(import.meta.dirname, '../../examples/remote-tools')

const declared = (name: string, more = '') => `operation: v1:${name}
backend: { kind: http, endpoint: https://tools.example/run }
${more}`

const exported = (name: string) => `
  import { operation } from '${SOURCE}'
  export const op = operation('v1:${name}', { run: () => 1 })`

async function operationsAt(url: string): Promise<string[]> {
  const { operations } = (await (await fetch(`${url}/.well-known/ops`)).json()) as { operations: { op: string }[] }
  return operations.map(({ op }) => op).sort()
}

test('a declaration says what the same words say in TypeScript', async () => {
  const folder = await temporaryFolder({
    'search.yaml': `
operation: v1:web.search
version: 1.2.0
description: Searches the web
args: { type: object, required: [query], properties: { query: { type: string } } }
capabilities: [network.read]
risk: medium
backend: { kind: http, endpoint: https://search.example/api }
auth: { profile: api_key_header, secretRef: search-api-key, headerName: X-Api-Key }
retry: { attempts: 3, backoffMs: 250, maxBackoffMs: 30000, jitter: full }
timeoutMs: 15000
`,
  })

  const { operations } = await loadDeclarations([join(folder, 'search.yaml')], { checks: await loadBackendChecks() })

  const written = operation('v1:web.search', {
    version: '1.2.0',
    description: 'Searches the web',
    args: { type: 'object', required: ['query'], properties: { query: { type: 'string' } } },
    capabilities: ['network.read'],
    risk: 'medium',
    backend: { kind: 'http', endpoint: 'https://search.example/api' },
    auth: { profile: 'api_key_header', secretRef: 'search-api-key', headerName: 'X-Api-Key' },
    retry: { attempts: 3, backoffMs: 250, maxBackoffMs: 30_000, jitter: 'full' },
    timeoutMs: 15_000,
  })
  expect(operations).toEqual([{ ...written, folder }])
})

test('a file holds one tool, several documents or a list, with anchors, and servers whose tools are imported', async () => {
  const shared = 'retry: &often { attempts: 5 }'
  const folder = await temporaryFolder({
    'documents.yaml': `${declared('a.one', shared)}\n---\n---\n${declared('a.two')}`,
    'list.yml': `
- operation: v1:b.one
  retry: &often { attempts: 5 }
  backend: &there { kind: http, endpoint: https://tools.example/run }
- { operation: v1:b.two, retry: *often, backend: *there }
- import: { kind: mcp, command: npx, args: [server-github], as: 'v2:dev.github.*' }
  risk: high
  auth: { secretRef: github }
`,
  })
  const files = ['documents.yaml', 'list.yml'].map((name) => join(folder, name))

  const { operations, imports } = await loadDeclarations(files, { checks: await loadBackendChecks() })

  const summary = operations.map(({ name, rules, backend }) => [name, rules.retry?.attempts, backend.kind])
  expect(summary).toEqual([
    ['v1:a.one', 5, 'http'],
    ['v1:a.two', undefined, 'http'],
    ['v1:b.one', 5, 'http'],
    ['v1:b.two', 5, 'http'],
  ])
  expect(imports).toEqual([
    {
      kind: 'mcp',
      namespace: 'dev.github',
      major: 2,
      settings: { kind: 'mcp', command: 'npx', args: ['server-github'] },
      rules: { risk: 'high' },
      auth: { secretRef: 'github' },
      folder,
      place: `${files[1]}:6:3`,
    },
  ])
})

test('the tools of the example are called where they run', async () => {
  const tools = spawn(process.execPath, [join(EXAMPLE, 'tool-server.ts')], { env: { ...process.env, PORT: '0' } })
  onTestFinished(() => void tools.kill('SIGKILL'))
  const [line] = (await once(tools.stdout.setEncoding('utf8'), 'data')) as [string]
  const there = /127\.0\.0\.1:\d+/.exec(line)?.[0] as string
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'tools'))
  await copyFile(join(EXAMPLE, 'measure.wasm'), join(folder, 'measure.wasm'))
  for (const name of (await readdir(join(EXAMPLE, 'tools'))).filter(isYaml)) {
    const text = await readFile(join(EXAMPLE, 'tools', name), 'utf8')
    await writeFile(join(folder, 'tools', name), text.replaceAll('127.0.0.1:4800', there))
  }

  const { url } = await serveProcess([join(folder, 'tools'), '--data', join(folder, '.data')])

  const calls: [op: string, args: object, result: unknown][] = [
    ['v1:weather.now', { city: 'Oslo' }, { city: 'Oslo', celsius: 4 }],
    ['v1:people.greet', { name: 'Ada' }, { greeting: 'Hello Ada' }],
    ['v1:text.measure', { text: 'größe' }, { bytes: '{"text":"größe"}'.length + 2 }],
  ]
  for (const [op, args, result] of calls) {
    expect((await callOver(url, op, args)).body).toMatchObject({ state: 'complete', result })
  }
})

test('the folder of the example is served unchanged, with its declared and exported operations', async () => {
  const data = await temporaryFolder()

  const { url } = await serveProcess([join(EXAMPLE, 'tools'), '--data', data])

  expect(await operationsAt(url)).toEqual(['v1:people.greet', 'v1:text.measure', 'v1:text.shout', 'v1:weather.now'])
  expect((await callOver(url, 'v1:text.shout', { text: 'hello' })).body).toMatchObject({ result: 'HELLO' })
})

test('an invalid import is reported with its place', async () => {
  const folder = await temporaryFolder({
    'a.yaml': "import: { kind: mcp, url: https://mcp.example, as: 'v1:github.*', token: x }",
  })

  const { code, stderr } = await runProcess(['serve', folder, '--port', '0', '--data', join(folder, '.data')])

  expect(code).toBe(1)
  expect(stderr).toContain(
    'a.yaml:1:1: import.token is not known beside url; there are headers, allowPrivate, maxBytes.',
  )
})

test('a tool that is both declared and exported is refused with both places', async () => {
  const folder = await temporaryFolder({
    'a.yaml': `# search\n${declared('web.search')}`,
    'b.ts': exported('web.search'),
  })

  const { code, stderr } = await runProcess(['serve', folder, '--port', '0', '--data', join(folder, '.data')])

  expect(code).toBe(1)
  expect(stderr).toContain(`a.yaml:2:12  v1:web.search@1.0.0 is already defined at ${join(folder, 'b.ts')}.`)
})

test('declared tools are served side by side with exported ones; changed, broken and new files are noticed', async () => {
  const folder = await temporaryFolder({ 'a.ts': exported('Local'), 'tools/b.yaml': declared('Remote') })
  const file = join(folder, 'tools/b.yaml')
  const server = await serveProcess([folder, '--watch', '--data', join(folder, '.data')])
  expect(await operationsAt(server.url)).toEqual(['v1:Local', 'v1:Remote'])

  await writeFile(file, declared('Renamed'))
  expect(await operationsAt((await server.nextStart()).url)).toEqual(['v1:Local', 'v1:Renamed'])

  await writeFile(file, declared('Renamed', 'timeoutMS: 5'))
  expect(await server.complaint('b.yaml:')).toContain(
    'b.yaml:3:1  There is no field "timeoutMS". Did you mean "timeoutMs"?',
  )
  await server.complaint('restarts when one of its files changes')

  await writeFile(join(dirname(file), 'c.yml'), declared('Another'))
  await server.complaint('b.yaml:')
  await writeFile(file, declared('Mended'))
  expect(await operationsAt((await server.nextStart()).url)).toEqual(['v1:Another', 'v1:Local', 'v1:Mended'])
})
