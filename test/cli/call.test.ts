import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { createServer, operation } from '../../src/index.ts'
import { QUICKSTART, runProcess, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

let url: string

beforeAll(async () => {
  const data = await mkdtemp(join(tmpdir(), 'callplane-cli-'))
  const operations = Object.values((await import(join(QUICKSTART, 'operations.ts'))) as Record<string, never>)
  const endless = operation('v1:Endless', {
    model: 'async',
    run: (_args, ctx) => new Promise<never>((_, reject) => ctx.signal.addEventListener('abort', reject)),
  })
  const breaks = operation('v1:Breaks', { run: () => Promise.reject(new Error('inner')) })
  const server = await createServer({ operations: [...operations, endless, breaks], data })
  url = (await server.listen({ port: 0 })).url
  return async () => {
    await server.close(0)
    await rm(data, { recursive: true })
  }
})

const call = (args: readonly string[], options?: Parameters<typeof runCommand>[1]) =>
  runCommand(['call', ...args], { env: { CALLPLANE_URL: url }, ...options })

test('a sync call prints its result, from a process as well', async () => {
  const args = ['call', 'v1:Calculator.Add', '--args', '{"a":1,"b":2}', '--url', url]

  const [inside, outside] = [await runCommand(args), await runProcess(args)]

  expect(inside).toEqual({ code: 0, stdout: '3\n', stderr: '' })
  expect(outside).toEqual(inside)
})

test('arguments come from a file or from standard input', async () => {
  const folder = await temporaryFolder({ 'args.json': '{"a":2,"b":3}' })

  const fromFile = await call(['v1:Calculator.Add', '--args', `@${join(folder, 'args.json')}`])
  const fromInput = await call(['v1:Calculator.Add', '--args', '-'], { stdin: '{"a":4,"b":5}' })

  expect([fromFile.stdout, fromInput.stdout]).toEqual(['5\n', '9\n'])
})

test('an async call prints the address to poll, and with --follow its result', async () => {
  const args = ['v1:Reports.Generate', '--args', '{"month":"2026-01","steps":2}']

  const accepted = await call(args)
  const followed = await call([...args, '--follow'])

  expect(JSON.parse(accepted.stdout)).toMatchObject({
    state: 'accepted',
    location: { uri: expect.stringContaining(`${url}/ops/`) },
  })
  expect(JSON.parse(followed.stdout)).toEqual({ month: '2026-01', rows: 200 })
  expect([accepted.code, followed.code, followed.stderr]).toEqual([0, 0, ''])
})

test('a terminal shows a progress bar, which is removed at the end', async () => {
  const { stderr } = await call(['v1:Reports.Generate', '--args', '{"month":"2026-01","steps":2}', '--follow'], {
    terminal: true,
  })

  expect(stderr).toContain(`${'█'.repeat(12)}${'░'.repeat(12)}  50%  step 1 of 2`)
  expect(stderr.endsWith('\r\u001b[2K')).toBe(true)
})

test('a domain failure is exit 1 with its message and its cause', async () => {
  const { code, stdout, stderr } = await call(['v1:Doorbell.Ring', '--args', '{"doorbell_id":"x"}'])

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^callplane: DOORBELL_NOT_FOUND: Doorbell ID not found\n\{\n/)
  expect(stderr).toContain('ids: doorbell42,doorbell84')
})

test('a failure of the server is exit 1 as well', async () => {
  expect(await call(['v1:Breaks'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^callplane: PANIC_INTERNAL: /),
  })
})

test('an unknown operation is exit 2 and suggests similar names', async () => {
  const typo = await call(['v1:Calculator.Ad'])
  const short = await call(['add', '--json'])
  const far = await call(['v1:Something.Else'])

  expect([typo.code, short.code, far.code]).toEqual([2, 2, 2])
  expect(typo.stderr).toMatch(/^callplane: UNKNOWN_OP: .*\nDid you mean v1:Calculator\.Add/)
  expect(short.stderr).toMatch(/Did you mean .*v1:Calculator\.Add/)
  expect(JSON.parse(short.stdout)).toMatchObject({ state: 'error', error: { code: 'UNKNOWN_OP' } })
  expect(far.stderr).toContain('Run "callplane ops" to list the operations')
})

test('a refused request says what to do: arguments, a missing key, an operation that is gone', async () => {
  const invalid = await call(['v1:Calculator.Add', '--args', '{"a":1}'])
  const keyless = await call(['v1:Notes.Add', '--args', '{"text":"x"}'])
  const keyed = await call(['v1:Notes.Add', '--args', '{"text":"x"}', '--idempotency-key', 'k1'])
  const gone = await call(['v1:Greeter.Hello', '--args', '{"name":"x"}'])

  expect([invalid.code, keyless.code, keyed.code, gone.code]).toEqual([2, 2, 0, 2])
  expect(invalid.stderr).toContain('/b')
  expect(keyless.stderr).toContain('Pass one with --idempotency-key')
  expect(gone.stderr).toContain('Use v2:Greeter.Hello instead')
})

test('locale, session and files reach the operation', async () => {
  const folder = await temporaryFolder({ 'note.txt': 'hello', raw: 'bytes' })

  const greeted = await call(['v2:Greeter.Hello', '--args', '{"name":"Ada"}', '--locale', 'de-CH', '--session', 's1'])
  const described = await call(['v1:Files.Describe', '--file', `file=${join(folder, 'note.txt')}`])
  const refused = await call(['v1:Files.Describe', '--file', `file=${join(folder, 'raw')}`])
  const named = await call(['v1:Files.Describe', '--file', `file=${join(folder, 'raw')};type=image/png`])

  expect(JSON.parse(greeted.stdout)).toEqual({ greeting: 'Hallo Ada' })
  expect(JSON.parse(described.stdout)).toMatchObject({ mimeType: 'text/plain', bytes: 5 })
  expect(refused.code).toBe(2)
  expect(JSON.parse(named.stdout)).toMatchObject({ mimeType: 'image/png' })
})

test('a chunked result is streamed, or written to a file that appears when it is whole', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'orders.csv')

  const streamed = await call(['v1:Orders.Export', '--args', '{"rows":2}', '--follow'])
  const saved = await call(['v1:Orders.Export', '--args', '{"rows":50000}', '--follow', '-o', file])

  expect(streamed.stdout).toBe('order,item,price\n1,item-1,0.1\n2,item-2,0.2\n')
  expect(saved).toEqual({ code: 0, stdout: '', stderr: '' })
  expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(50_002)
  expect(await readdir(folder)).toEqual(['orders.csv'])
})

test('a result at another address is printed as that address, or fetched into a file', async () => {
  const file = join(await temporaryFolder(), 'circle.svg')

  const printed = await call(['v1:Pictures.Draw', '--args', '{"radius":5}'])
  const saved = await call(['v1:Pictures.Draw', '--args', '{"radius":5}', '--output', file])
  const unwritable = await call(['v1:Pictures.Draw', '-o', join(file, 'below-a-file')])

  expect(JSON.parse(printed.stdout)).toMatchObject({ uri: expect.stringContaining('/objects/') })
  expect(saved.code).toBe(0)
  expect(await readFile(file, 'utf8')).toMatch(/^<svg/)
  expect(unwritable).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be written') })
})

test('interrupting a followed call leaves it running and says where to find it', async () => {
  const interrupt = new AbortController()
  const following = call(['v1:Endless', '--follow'], { signal: interrupt.signal })
  await running()

  interrupt.abort()
  const { code, stderr } = await following

  const address = /poll it at (\S+)/.exec(stderr)?.[1] ?? ''
  expect(code).toBe(130)
  expect(await (await fetch(address)).json()).toMatchObject({ state: 'pending' })
})

test('no server is exit 3 with the way to start one', async () => {
  const { code, stderr } = await runCommand(['call', 'v1:Calculator.Add', '--url', 'http://127.0.0.1:1'])

  expect(code).toBe(3)
  expect(stderr).toMatch(/^callplane: No server responds\. http:\/\/127\.0\.0\.1:1 .*"callplane serve".*\n$/)
})

test('invalid arguments are exit 2 before anything is sent', async () => {
  const nowhere = { env: { CALLPLANE_URL: 'http://127.0.0.1:1' } }
  const wrong = [
    [],
    ['v1:X', 'v1:Y'],
    ['v1:X', '--args', '{"a":'],
    ['v1:X', '--args', '[1]'],
    ['v1:X', '--args', '@no-such-file'],
    ['v1:X', '--file', 'no-equals-sign'],
    ['v1:X', '--file', 'file=no-such-file'],
    ['v1:X', '--timeout-ms', 'soon'],
    ['v1:X', '--url', 'localhost'],
    ['v1:X', '--no-such-flag'],
  ]
  for (const args of wrong) {
    const { code, stderr } = await call(args, nowhere)

    expect(stderr).toMatch(/^callplane: .+\nSee: callplane help call\n$/)
    expect(code).toBe(2)
  }
})

/** Until a handler of ours is at work. */
async function running(): Promise<void> {
  const read = async () =>
    (await (await fetch(`${url}/metrics`)).text()).match(/^callplane_running_attempts (\d+)/m)?.[1]
  while ((await read()) !== '1');
}
