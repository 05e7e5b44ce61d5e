import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type ImportedRules, importTools, operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { callOver, temporaryFolder as folderWith, serveProcess } from '../cli/processes.ts'
import { type HttpToolOptions, startHttpTools } from '../fixtures/mcp/http-server.ts'
import { type Site, startSite, temporaryFolder } from '../scenarios/server.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const PROGRAM = join(import.meta.dirname, '../fixtures/mcp/stdio-server.ts')
const as = 'v1:kit.*'

async function startProcess(rules: ImportedRules = {}, more: object = {}) {
  const folder = temporaryFolder()
  const command = { command: process.execPath, args: [PROGRAM, folder] }
  const site = await startSite({
    operations: [],
    imports: [importTools({ kind: 'mcp', as, ...command, ...more }, rules)],
  })
  const happened = (what: string) => existsSync(join(folder, what))
  return { site, folder, when: (what: string) => vi.waitUntil(() => happened(what), { timeout: 20_000 }) }
}

async function openHttp(options: HttpToolOptions = {}) {
  const server = await startHttpTools(options)
  onTestFinished(() => server.stop())
  return server
}

async function startHttp(options: HttpToolOptions = {}, rules: ImportedRules = {}) {
  const server = await openHttp(options)
  const imported = importTools({ kind: 'mcp', as, url: server.url, allowPrivate: true }, rules)
  const site = await startSite({ operations: [], imports: [imported] })
  return { site, server, when: server.when }
}

type Start = (rules?: ImportedRules) => Promise<{ site: Site; when(what: string): Promise<unknown> }>

const GENERATIONS: [string, Start][] = [
  ['a process', startProcess],
  ['HTTP, both generations', (rules) => startHttp({}, rules)],
  ['HTTP, with a handshake', (rules) => startHttp({ only: 'legacy' }, rules)],
  ['HTTP, with sessions', (rules) => startHttp({ only: 'sessions' }, rules)],
  ['HTTP, without one', (rules) => startHttp({ only: 'modern' }, rules)],
]

async function names(site: Site): Promise<string[]> {
  const document = (await (await site.request('/.well-known/ops')).json()) as { operations: { op: string }[] }
  return document.operations.map(({ op }) => op)
}

test.each(GENERATIONS)('%s: its tools are operations, called over every protocol', async (_name, start) => {
  const { site } = await start()

  expect(await names(site)).toContain('v1:kit.math_add')
  expect((await site.call('v1:kit.math_add', { a: 2, b: 3 })).body).toMatchObject({ result: { sum: 5 } })
  expect((await site.call('v1:kit.echo', { text: 'é' })).body).toMatchObject({ result: { text: 'é' } })
  expect((await site.call('v1:kit.picture')).body.result).toMatchObject({
    content: [{ type: 'text' }, { type: 'image' }],
  })
  expect((await site.call('v1:kit.math_add', { a: 2 })).body).toMatchObject({ error: { code: 'VALIDATION_ERROR' } })
  expect((await site.call('v1:kit.fail')).body).toMatchObject({
    error: { code: 'TOOL_FAILED', message: 'There is none left.' },
  })
  const oxp = await site.request('/tools/call', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ request: { tool_id: 'kit.say', input: { what: 'hello' } } }),
  })
  expect(await oxp.json()).toMatchObject({ result: { success: true, value: { result: 'hello' } } })
})

test.each(GENERATIONS)('%s: progress is seen, and a cancellation reaches the tool', async (_name, start) => {
  const { site, when } = await start({ model: 'async' })
  const { requestId } = (await site.call('v1:kit.hang')).body
  await when('begun')
  await vi.waitUntil(async () => JSON.stringify((await site.poll(requestId)).body).includes('a quarter'))

  await site.request(`/ops/${requestId}`, { method: 'DELETE' })

  await when('stopped')
  expect((await site.ended(requestId)).body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
})

test('the annotations of a tool decide how it is called, and the import can override them', async () => {
  const { site } = await startHttp({}, { risk: 'high', timeoutMs: 1_000 })
  const { registry } = site.server

  expect(registry.resolve('v1:kit.math_add', 0)).toMatchObject({
    title: 'Addition',
    description: 'Adds two numbers',
    sideEffecting: false,
    risk: 'high',
    timeoutMs: 1_000,
  })
  expect(registry.resolve('v1:kit.say', 0)).toMatchObject({ sideEffecting: true, idempotencyRequired: true })
})

test.each(GENERATIONS.slice(0, 2))('%s: a tool that is added or removed shows in every list', async (_name, start) => {
  const { site } = await start()
  const etag = (await site.request('/.well-known/ops')).headers.get('etag') ?? ''

  await site.call('v1:kit.change', { add: ['later'] }, { requestId: 'change-1', idempotencyKey: 'k1' })
  await vi.waitUntil(async () => (await names(site)).includes('v1:kit.later'))

  expect((await site.request('/.well-known/ops', { headers: { 'If-None-Match': etag } })).status).toBe(200)
  expect(JSON.stringify(await (await site.request('/tools')).json())).toContain('"kit.later@1.0.0"')
  expect((await site.call('v1:kit.later')).body).toMatchObject({ result: { result: 'I am later' } })
})

test('a removed tool is no longer an operation', async () => {
  const { site, server } = await startHttp({ extra: ['later'] })
  expect((await site.call('v1:kit.later')).body).toMatchObject({ state: 'complete' })

  server.world.extra.clear()
  await site.call('v1:kit.change', { add: [] }, { requestId: 'change-1', idempotencyKey: 'k1' })
  await vi.waitUntil(async () => !(await names(site)).includes('v1:kit.later'))

  expect((await site.call('v1:kit.later')).body).toMatchObject({ error: { code: 'UNKNOWN_OP' } })
})

test('a process that dies is started again, and the call that it took along fails as one worth repeating', async () => {
  const { site, folder } = await startProcess()
  const first = readFileSync(join(folder, 'started'), 'utf8')

  const crashed = await site.call('v1:kit.crash')

  expect(crashed.body).toMatchObject({ error: { code: 'PANIC_CONNECTION_LOST' } })
  expect((await site.call('v1:kit.echo', { again: 1 })).body).toMatchObject({ result: { again: 1 } })
  expect(readFileSync(join(folder, 'started'), 'utf8')).not.toBe(first)
})

test('a process ends with the server', async () => {
  const { site, folder } = await startProcess()
  await site.call('v1:kit.echo')
  const pid = Number(readFileSync(join(folder, 'echo'), 'utf8'))

  await site.close()

  await vi.waitUntil(() => !isRunning(pid))
})

test.each([
  ['the server closes', (site: Site) => site.close()],
  ['the process crashes', (site: Site) => site.call('v1:kit.crash')],
])('when %s, the processes that an MCP server started end too', async (_what, end) => {
  const children: Promise<unknown>[] = []
  const port = await openPort(
    (child) =>
      void children.push(
        once(
          child.on('error', () => undefined),
          'close',
        ),
      ),
  )
  const { site } = await startProcess({}, { args: [PROGRAM, temporaryFolder(), String(port)] })
  const [probed, served] = children
  expect(children).toHaveLength(2)
  await probed

  await end(site)

  await served
})

async function openPort(connected: (socket: Socket) => void): Promise<number> {
  const server = createServer(connected).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('the environment of a process has only PATH and the declared variables', async () => {
  vi.stubEnv('CALLPLANE_SECRET_KIT', 's3cret-of-the-kit')
  vi.stubEnv('PRIVATE', 'not for others')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { site } = await startProcess({}, { env: { MODE: 'test', TOKEN: { secretRef: 'kit' } } })

  const { env } = (await site.call('v1:kit.environment')).body.result as { env: Record<string, string> }

  expect(Object.keys(env).sort()).toEqual(['MODE', 'PATH', 'TOKEN'])
  expect(JSON.stringify(env)).not.toContain('s3cret')
})

test('tools of a server that is down at the start appear when it is up', async () => {
  const down = await startHttpTools()
  await down.stop()
  const imported = importTools({ kind: 'mcp', as, url: down.url, allowPrivate: true })
  const site = await startSite({ operations: [operation('v1:own', { run: () => 1 })], imports: [imported] })
  expect(await names(site)).toEqual(['v1:own'])

  await openHttp({ port: Number(new URL(down.url).port) })

  await vi.waitUntil(async () => (await names(site)).includes('v1:kit.echo'), { timeout: 20_000 })
  expect((await site.call('v1:kit.echo', { x: 1 })).body).toMatchObject({ result: { x: 1 } })
})

test('a server that was restarted is asked for its tools again', async () => {
  const { site, server } = await startHttp()
  await server.stop()

  await openHttp({ port: Number(new URL(server.url).port), extra: ['newer'] })

  await vi.waitUntil(async () => (await names(site)).includes('v1:kit.newer'), { timeout: 20_000 })
})

test('a server that has forgotten the session is greeted again, and the call goes through', async () => {
  const { site, server } = await startHttp({ only: 'sessions' })
  expect((await site.call('v1:kit.echo', { x: 1 })).body).toMatchObject({ result: { x: 1 } })

  server.forgetSessions()

  expect((await site.call('v1:kit.echo', { x: 2 })).body).toMatchObject({ result: { x: 2 } })
})

test.each(['modern', 'legacy'] as const)(
  'a call whose stream is cut fails, as one worth repeating: %s',
  async (only) => {
    const { site, server } = await startHttp({ only }, { model: 'async' })
    const { requestId } = (await site.call('v1:kit.hang')).body
    await vi.waitUntil(async () => JSON.stringify((await site.poll(requestId)).body).includes('a quarter'))

    await server.stop()

    const code = expect.stringMatching(/NO_ANSWER|CONNECTION_LOST/)
    expect((await site.ended(requestId)).body).toMatchObject({ state: 'error', error: { code } })
  },
)

test('a YAML file imports the tools of a process', async () => {
  const declared = { kind: 'mcp', as, command: process.execPath, args: [PROGRAM, '.'] }
  const folder = await folderWith({ 'kit.yaml': JSON.stringify({ import: declared, risk: 'medium' }) })

  const { url } = await serveProcess([folder, '--data', join(folder, '.data')])

  expect((await callOver(url, 'v1:kit.math_add', { a: 1, b: 2 })).body).toMatchObject({ result: { sum: 3 } })
})

test('the credential is sent with every request, and a refused credential is reported', async () => {
  vi.stubEnv('CALLPLANE_SECRET_KIT', 'right')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { site, server } = await startHttp({ tokens: ['Bearer right'] }, { auth: { secretRef: 'kit' } })
  expect((await site.call('v1:kit.echo', { x: 1 })).body).toMatchObject({ result: { x: 1 } })
  expect(server.asked.every(({ headers }) => headers.authorization === 'Bearer right')).toBe(true)

  vi.stubEnv('CALLPLANE_SECRET_KIT', 'wrong')

  expect((await site.call('v1:kit.echo')).body).toMatchObject({ error: { code: 'PANIC_AUTH_INVALID' } })
})

test('a private address is not connected to unless the import says that it may be', async () => {
  const server = await openHttp()
  const imported = importTools({ kind: 'mcp', as, url: server.url })

  const site = await startSite({ operations: [], imports: [imported] })

  expect(await names(site)).toEqual([])
  expect(server.asked).toEqual([])
})

test('a tool whose name is taken is left out, and the others are imported', async () => {
  const server = await openHttp()
  const imported = importTools({ kind: 'mcp', as, url: server.url, allowPrivate: true })
  const lines: string[] = []
  const site = await startSite({
    operations: [operation('v1:kit.echo', { run: () => 'ours' }), operation('v1:kit.math-add', { run: () => 'ours' })],
    imports: [imported],
    log: 'warn',
    logTo: { write: (line) => lines.push(line) },
  })

  expect((await site.call('v1:kit.echo')).body).toMatchObject({ result: 'ours' })
  expect(await names(site)).not.toContain('v1:kit.math_add')
  expect(await names(site)).toContain('v1:kit.say')
  expect(lines.join('')).toContain('v1:kit.echo@1.0.0 is defined twice')
  expect(lines.join('')).toContain('would both be the tool')
})

test.each([
  [{ url: 'https://mcp.example', comand: 'x' }, {}, 'import.comand is not known beside url'],
  [{ url: 'ftp://mcp.example' }, {}, 'import.url must be the URL of the tool'],
  [{ command: 'npx', args: 'x' }, {}, 'import.args must be a list'],
  [{ command: 'npx', env: { A: 1 } }, {}, 'import.env.A must be a text in quotes'],
  [{ command: 'npx', url: 'https://mcp.example' }, {}, 'either command'],
  [{ command: 'npx' }, { auth: { secretRef: 'x' } }, 'auth is for a url'],
])('an import of %j is refused before anything is started', async (settings, rules, message) => {
  const imported = importTools({ kind: 'mcp', as, ...settings }, rules)

  await expect(startSite({ operations: [], imports: [imported] })).rejects.toThrow(message)
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
