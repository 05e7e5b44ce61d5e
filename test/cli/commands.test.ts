import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { sampleCall } from '../../src/cli/serve/sample-call.ts'
import { parseServe } from '../../src/cli/serve/settings.ts'
import { formatLine } from '../../src/cli/terminal/log-lines.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import { hashToken } from '../../src/security/identity/identify.ts'
import { runProcess } from './processes.ts'
import { runCommand } from './streams.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const COMMANDS = [
  ...['serve', 'call', 'ops', 'check', 'conformance', 'doctor', 'migrate', 'move', 'nodes', 'token'],
  ...['runs', 'replay', 'dead-letters'],
]

test('help names every command, and every command explains itself with an example', async () => {
  const overview = await runCommand(['--help'])

  for (const name of COMMANDS) {
    const [asked, flagged] = [await runCommand(['help', name]), await runCommand([name, '--help'])]

    expect(overview.stdout).toContain(`\n  ${name} `)
    expect(asked.stdout).toMatch(new RegExp(`Usage: callplane ${name}[^]*Examples:\n {2}`))
    expect(flagged).toEqual(asked)
    expect(asked.code).toBe(0)
  }
})

test('the version is that of the package', async () => {
  expect(await runProcess(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
})

test('a command or a flag that does not exist is exit 2 with what may have been meant', async () => {
  const command = await runCommand(['srve'])
  const inherited = await runCommand(['constructor'])
  const flag = await runCommand(['ops', '--jsn'])

  expect(command.stderr).toBe('callplane: There is no command "srve". Did you mean "serve"?\nSee: callplane help\n')
  expect(inherited.stderr).toBe('callplane: There is no command "constructor".\nSee: callplane help\n')
  expect(flag.stderr).toBe("callplane: Unknown option '--jsn'.\nSee: callplane help ops\n")
  expect([command.code, inherited.code, flag.code]).toEqual([2, 2, 2])
})

test('a new token comes with the hash a server knows it by', async () => {
  const { token, hash } = JSON.parse((await runCommand(['token', '--json'])).stdout) as Record<string, string>

  expect(token).toMatch(/^cp_[\w-]{43}$/)
  expect(hash).toBe(hashToken(token ?? ''))
})

test('ops lists each operation with what a caller has to know', async () => {
  const url = await answering({
    callVersion: '2026-02-10',
    operations: [
      {
        op: 'v1:Zoo.Feed',
        executionModel: 'async',
        sideEffecting: true,
        idempotencyRequired: true,
        description: 'Feeds\nall.',
      },
      {
        op: 'v1:Art.Draw',
        executionModel: 'sync',
        deprecated: true,
        sunset: '2099-01-01',
        mediaSchema: [{}],
        chunked: true,
      },
    ],
  })

  const { code, stdout } = await runCommand(['ops', '--url', url])

  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['OPERATION', 'MODEL', 'FLAGS', 'DESCRIPTION'],
    ['v1:Art.Draw', 'sync', 'deprecated until 2099-01-01, media, chunked'],
    ['v1:Zoo.Feed', 'async', 'effects, key', 'Feeds all.'],
    [''],
  ])
  expect(code).toBe(0)
})

test('conformance tells what a server does not do, with the requirements, and exits 1', async () => {
  const url = await answering({ callVersion: '2026-02-10', operations: [] })

  const { code, stdout } = await runCommand(['conformance', url])
  const nobody = await runCommand(['conformance', 'http://127.0.0.1:1'])

  expect(stdout).toMatch(/^MUST {3}PUT \/call gets 200, not 405\.\n\n {7}Check methods-of-every-endpoint: .+\n/m)
  expect(stdout).toMatch(/^ {9}opencall:113 \[IMPLIED\] 405 = .+\n\n {7}> PUT \/call\n\n {7}< 200\n/m)
  expect(stdout).toMatch(/\n\d+ checks: \d+ met, [1-9]\d* unmet, [1-9]\d* not applicable, \d+ skipped\nfound: \d+ MUST/)
  expect(stdout).not.toContain('\u001b')
  expect(code).toBe(1)
  expect(nobody.code).toBe(3)
})

test('conformance is judged by the protocol that is asked for', async () => {
  const url = await answering({ items: [] })

  const oxp = await runCommand(['conformance', url, '--protocol', 'oxp', '--json', '-'])
  const none = await runCommand(['conformance', url, '--protocol', 'soap'])

  const { checks }: { checks: { id: string; outcome: string }[] } = JSON.parse(oxp.stdout)
  expect(checks.find(({ id }) => id === 'tool-list')?.outcome).toBe('met')
  expect(checks.find(({ id }) => id === 'shorthand-version')?.outcome).toBe('not-applicable')
  expect(oxp.code).toBe(1)
  expect(none.stderr).toMatch(/no checks for "soap"\. Use one of opencall, oxp, otc/)
  expect(none.code).toBe(2)
})

test("flags go before the environment, that before the application's own settings", () => {
  const env = { PORT: '5001', CALLPLANE_DATA: '/env' }
  const own = { data: '/own', log: 'error', requestLog: false, opencall: { strict: false } } as const

  const plain = parseServe({ args: [], env: {} })
  const fromEnv = parseServe({ args: [], env })
  const flags = parseServe({ args: ['-p', '0', '--data', '/flag', '--log-level', 'warn', '--strict'], env })
  const terse = parseServe({ args: ['--no-request-log', '--no-execution-log'], env: {} })

  expect([plain.port, fromEnv.port, flags.port]).toEqual([4747, 5001, 0])
  expect(plain.over(own)).toMatchObject(own)
  expect(plain.over({})).toMatchObject({ log: 'info', requestLog: true })
  expect(terse.over({ executionLog: true })).toMatchObject({ requestLog: false, executionLog: false })
  expect(fromEnv.over(own).data).toBe('/env')
  expect(flags.over(own)).toMatchObject({ data: '/flag', log: 'warn', requestLog: false, opencall: { strict: true } })
})

test('--websocket requires WebSocket, and --no-websocket switches it off', () => {
  const over = (...args: string[]) => parseServe({ args, env: {} }).over({}).websocket

  expect([over(), over('--websocket'), over('--no-websocket')]).toEqual([undefined, true, false])
  expect(() => over('--websocket', '--no-websocket')).toThrow('not both')
})

test('a token from outside is added to those of the application and taken out of the environment', () => {
  const env: Record<string, string> = { CALLPLANE_TOKEN: 'x'.repeat(40) }
  const known = { hash: hashToken('other'), kind: 'bearer', subject: 'ada', scopes: [] } as const

  const { auth } = parseServe({ args: [], env }).over({ auth: { tokens: [known], tenant: 't' } })

  expect(auth).toEqual({
    tenant: 't',
    tokens: [
      known,
      { hash: hashToken('x'.repeat(40)), kind: 'bearer', subject: 'operator', scopes: ['*', 'callplane:metrics'] },
    ],
  })
  expect(env).toEqual({})
  expect(() => parseServe({ args: ['--token', 'short'], env: {} }).over({})).toThrow('--token is too short')
})

test('a log line shows what callers sent without letting it move the cursor or look like another line', () => {
  const line = {
    level: 'warn',
    time: '2026-05-01T10:00:00.000Z',
    msg: 'said \u001b[2J\nall is well',
    note: 'a\r\nb\u009b31m',
    'key\u001b': ['\u001b]0;x\u0007'],
    err: { stack: 'Error: \u001b[1A\n    at x' },
  }
  const request = { level: 'info', msg: 'request', method: 'GET', path: '/\u001b[31m\n', status: 404, durationMs: 1 }

  const shown = formatLine(JSON.stringify(line), { colours: false })
  const asked = formatLine(JSON.stringify(request), { colours: false })

  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  expect(shown + asked).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  expect(shown.split('\n')).toEqual([
    expect.stringContaining('said ?[2J\\nall is well note=a\\nb?31m'),
    '         Error: ?[1A',
    '             at x',
  ])
  expect(asked.split('\n')).toHaveLength(1)
})

test('a person reads short lines, with the stack of an error below', () => {
  const time = '2026-01-01T10:20:30.000Z'
  const request = { level: 'info', time, method: 'POST', path: '/call', status: 200, durationMs: 1.5, msg: 'request' }
  const error = {
    level: 'error',
    time,
    op: 'v1:X',
    err: { message: 'no', stack: 'Error: no\n    at x.ts:1' },
    msg: 'failed',
  }

  const plain = [request, error].map((line) => formatLine(JSON.stringify(line), { colours: false }))
  const coloured = formatLine(JSON.stringify(error), { colours: true })

  expect(plain[0]).toMatch(/^\d\d:20:30 info {2}POST \/call 200 1\.5 ms$/)
  expect(plain[1]).toMatch(/^\d\d:20:30 error failed op=v1:X\n {9}Error: no\n {13}at x\.ts:1$/)
  expect(coloured).toContain('\u001b[31merror\u001b[39m')
})

test('the call that is offered to paste has arguments its schema takes', () => {
  const properties = {
    id: { type: 'string' },
    kind: { enum: ['big', 'small'] },
    x: { type: 'number' },
    y: { type: 'integer', minimum: 10 },
    skip: { type: 'string' },
  }
  const args = { type: 'object', properties, required: ['id', 'kind', 'x', 'y'] }
  const operation = (full: string, rules: object) =>
    ({ name: { full }, model: 'sync', media: [], schemas: { args, result: {} }, ...rules }) as unknown as Operation

  const sample = sampleCall([
    operation('v1:Slow', { model: 'async' }),
    operation('v1:Risky', { sideEffecting: true }),
    operation('v1:Old', { deprecated: {} }),
    operation('v1:Fine', {}),
  ])

  expect(sample).toEqual({ op: 'v1:Fine', args: { id: 'text', kind: 'big', x: 1, y: 10 } })
})

async function answering(body: unknown): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('tools can be run over the Tool Execution API where only this machine can ask, unless the application says otherwise', () => {
  const allowed = (args: string[], own = {}) => parseServe({ args, env: {} }).over(own).rest?.allowExecute
  const token = 'a-token-that-is-long-enough-to-be-one'

  expect(allowed([])).toBe(true)
  expect(allowed(['--host', '::1'])).toBe(true)
  expect(allowed([], { rest: { title: 'Mine' } })).toBe(true)
  expect(allowed([], { rest: { allowExecute: false } })).toBe(false)
  expect(allowed(['--host', '0.0.0.0'])).toBe(false)
  expect(allowed(['--token', token])).toBe(false)
  expect(allowed(['--token', token], { rest: { allowExecute: true } })).toBe(true)
})
