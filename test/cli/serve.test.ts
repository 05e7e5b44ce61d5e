import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { callOver, QUICKSTART, runProcess, SOURCE, serveProcess, temporaryFolder } from './processes.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

test('the quickstart is served at the address that is announced, and SIGTERM ends it with 0', async () => {
  const folder = await temporaryFolder()

  const server = await serveProcess([QUICKSTART, '--data', join(folder, 'data')])
  const { body } = await callOver(server.url, 'v1:Calculator.Add', { a: 1, b: 2 })
  server.kill('SIGTERM')

  expect(body.result).toBe(3)
  expect(server.started).toMatchObject({ operations: 14, data: join(folder, 'data'), authentication: false })
  expect(server.started.note).toBe('no authentication: accepts connections from this machine only')
  expect(await server.ended).toBe(0)
})

test.each([
  ['one process', []],
  ['two workers', ['--workers', '2']],
])('a call that %s is running when asked to end is finished, and found by the next server', async (_, workers) => {
  const data = join(await temporaryFolder(), 'data')
  const first = await serveProcess([QUICKSTART, '--data', data, ...workers])
  const { body } = await callOver(first.url, 'v1:Reports.Generate', { month: '2026-01', steps: 3 })

  first.kill('SIGTERM')
  const code = await first.ended
  const second = await serveProcess([QUICKSTART, '--data', data])
  const polled = await fetch(`${second.url}/ops/${body.requestId}`, { headers: { Prefer: 'wait=20' } })

  expect(code).toBe(0)
  expect(await polled.json()).toMatchObject({ state: 'complete', result: { month: '2026-01', rows: 300 } })
})

test('a second signal ends the server at once, and the call that was running is run again', async () => {
  const data = join(await temporaryFolder(), 'data')
  const source = `
    import { operation } from '${SOURCE}'
    import { existsSync, writeFileSync } from 'node:fs'
    export const server = { work: { leaseMs: 500, claimEveryMs: 100 } }
    export const slow = operation('v1:Slow', { model: 'async', run: async (_args, ctx) => {
      if (existsSync('${data}/begun')) return ctx.attempt
      writeFileSync('${data}/begun', '')
      ctx.progress(0.5, 'begun')
      await new Promise((resolve) => setTimeout(resolve, 3_600_000))
    } })`
  const folder = await temporaryFolder({ 'slow.ts': source })
  const server = await serveProcess([folder, '--data', data])
  const { body } = await callOver(server.url, 'v1:Slow')
  await eventOf(`${server.url}/ops/${body.requestId}/events`, 'begun')

  server.kill('SIGTERM')
  await refusedCall(server.url)
  server.kill('SIGTERM')

  expect(await server.ended).toBe(143)
  const next = await serveProcess([folder, '--data', data])
  const polled = await fetch(`${next.url}/ops/${body.requestId}`, { headers: { Prefer: 'wait=20' } })
  expect(await polled.json()).toMatchObject({ state: 'complete', result: 2 })
})

test('a port in use is one sentence and exit 1, and nothing claims to listen', async () => {
  const blocker = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void blocker.close())
  await new Promise((resolve) => blocker.once('listening', resolve))
  const { port } = blocker.address() as AddressInfo
  const data = join(await temporaryFolder(), 'data')

  const { code, stdout, stderr } = await runProcess(['serve', QUICKSTART, '--data', data], { env: { PORT: `${port}` } })

  expect(stderr).toBe(`callplane: 127.0.0.1:${port} is in use; choose another port, or stop what listens there.\n`)
  expect(stdout).not.toContain('listening')
  expect(code).toBe(1)
})

test('a second server on the same data folder is refused and says which file is in use', async () => {
  const data = join(await temporaryFolder(), 'data')
  await serveProcess([QUICKSTART, '--data', data])

  const { code, stdout, stderr } = await runProcess(['serve', QUICKSTART, '--port', '0'], {
    env: { CALLPLANE_DATA: data },
  })

  expect(stderr).toMatch(/^callplane: The database .*callplane\.db is in use by another process\..*\n$/)
  expect(stdout).toBe('')
  expect(code).toBe(1)
})

test('operations are collected from every module of a folder, however they are exported, and each once', async () => {
  const one = (name: string) => `operation('v1:${name}', { run: () => '${name}' })`
  const header = `import { operation, removed } from '${SOURCE}'\n`
  const folder = await temporaryFolder({
    'a.ts': `${header}const x = ${one('Named')}\nexport { x, x as again }\nexport const helper = () => 1`,
    'deep/b.mjs': `${header}export default [${one('Listed')}, ${one('Too')}]`,
    'deep/c.js': `${header}export * from '../a.ts'\nexport default ${one('Default')}\nexport const gone = removed('v1:Gone', { on: '2026-01-01' })`,
    'with-context.ts': `${header}export const context = { greeting: 'Hello' as const }
      export const greet = operation('v1:Greet', { run: (_args, ctx: any) => ctx.greeting })`,
    'a.test.ts': 'throw new Error("a test was loaded")',
    'types.d.ts': 'throw new Error("a declaration was loaded")',
    'node_modules/p/index.js': 'throw new Error("a package was loaded")',
    '.cache/x.js': 'throw new Error("a dot folder was loaded")',
  })

  const server = await serveProcess([folder, '--data', join(folder, '.data')])

  const registry = (await (await fetch(`${server.url}/.well-known/ops`)).json()) as { operations: { op: string }[] }
  expect(registry.operations.map(({ op }) => op).sort()).toEqual([
    'v1:Default', 'v1:Greet', 'v1:Listed', 'v1:Named', 'v1:Too',
  ]) // biome-ignore format: a list of names
  expect((await callOver(server.url, 'v1:Greet')).body.result).toBe('Hello')
  expect((await callOver(server.url, 'v1:Gone')).status).toBe(410)
})

test('with CALLPLANE_TOKEN only its bearer may call, and no handler finds the token', async () => {
  const token = 'a-token-of-more-than-thirty-two-characters'
  const folder = await temporaryFolder({
    'ops.ts': `import { operation } from '${SOURCE}'
      export const peek = operation('v1:Peek', { scopes: ['any'], run: () => process.env.CALLPLANE_TOKEN ?? 'nothing' })`,
  })

  const server = await serveProcess([folder, '--data', join(folder, '.data'), '--host', '0.0.0.0'], {
    env: { CALLPLANE_TOKEN: token },
  })
  const url = server.url.replace('0.0.0.0', '127.0.0.1')
  const stranger = await callOver(url, 'v1:Peek')
  const bearer = await callOver(url, 'v1:Peek', {}, { Authorization: `Bearer ${token}` })

  expect(server.started).toMatchObject({ authentication: true })
  expect(stranger.status).toBe(401)
  expect(bearer.body.result).toBe('nothing')
})

test('without authentication nothing but loopback is listened on', async () => {
  const data = join(await temporaryFolder(), 'data')

  const { code, stderr } = await runProcess(['serve', QUICKSTART, '--host', '0.0.0.0', '--port', '0', '--data', data])

  expect(stderr).toContain('loopback only, not on 0.0.0.0. Set CALLPLANE_TOKEN')
  expect(code).toBe(1)
})

test('each mistake in a module is reported in one sentence that names the file, without a stack', async () => {
  const header = `import { operation } from '${SOURCE}'\n`
  const good = `${header}export const x = operation('v1:X', { run: () => 1 })\n`
  const cases: [file: string, source: string, message: RegExp][] = [
    ['syntax.ts', 'const a = 1\nexport const b = ;', /syntax\.ts:2 cannot be loaded: Expression expected/],
    ['throws.ts', 'const url: string = ""\nthrow new Error("DB_URL is not set")', /throws\.ts:2 .*: DB_URL is not set/],
    ['imports.ts', "import './missing.ts'", /imports\.ts cannot be loaded: Cannot find module/],
    ['empty.ts', 'export const nothing = 1', /No operation is exported by .*empty\.ts/],
    [
      'name.ts',
      `${header}export const x = operation('orders', { run: () => 1 })`,
      /name\.ts:2 .*"orders" is not an operation name/,
    ],
    [
      'rule.ts',
      `${header}export const x = operation('v1:X', { timeoutMs: 0, run: () => 1 })`,
      /v1:X: timeoutMs must be/,
    ],
    ['setting.ts', `${good}export const server = { atuh: {} }`, /"server" has no option "atuh"/],
    ['context.ts', `${good}export const context = 7`, /"context" must be an object/],
  ]
  const folder = await temporaryFolder(Object.fromEntries(cases))

  const run = ([file]: (typeof cases)[number]) =>
    runProcess(['serve', join(folder, file), '--data', join(folder, `.data-${file}`)])
  const runs = await Promise.all(cases.map(run))

  for (const [at, { code, stderr }] of runs.entries()) {
    expect(stderr).toMatch(cases[at]?.[2] as RegExp)
    expect(stderr).not.toMatch(/\n\s+at /)
    expect(code).toBe(1)
  }
  const debugged = await runProcess(['serve', join(folder, 'throws.ts'), '--debug'])
  expect(debugged.stderr).toMatch(/DB_URL is not set\n\s+at .*throws\.ts:2/)
})

test('for a module in a CommonJS package, the message says how to make it an ES module', async () => {
  const folder = await temporaryFolder({
    'package.json': '{ "type": "commonjs" }',
    'ops.ts': `import { operation } from '${SOURCE}'\nexport const x = operation('v1:X', { run: () => 1 })`,
  })

  const { code, stderr } = await runProcess(['serve', join(folder, 'ops.ts'), '--data', join(folder, '.data')])

  expect(stderr).toMatch(/set "type": "module" in .*package\.json, or call it .*ops\.mts/)
  expect(code).toBe(1)
})

/** Until an event of a call holds this text. */
async function eventOf(url: string, part: string): Promise<void> {
  const { body } = await fetch(url)
  for await (const text of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()))
    if (text.includes(part)) return
}

/** Until the server takes no more calls. */
async function refusedCall(url: string): Promise<void> {
  const ask = () =>
    fetch(`${url}/health`).then(
      (response) => response.body?.cancel().then(() => true),
      () => false,
    )
  while (await ask());
}
