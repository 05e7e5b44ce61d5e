/** `callplane serve --workers`: several processes at one address that start, run and end together. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ConformanceProtocol, conformanceCases, judge } from '../../src/testing/conformance/index.ts'
import { callOver, QUICKSTART, runProcess, SOURCE, serveProcess, temporaryFolder } from '../cli/processes.ts'
import { quickstartParts } from '../conformance/quickstart-parts.ts'
import { freePort } from '../engines/free-port.ts'
import { request } from '../protocols/contract/host.ts'
import { grpcPeer } from '../protocols/contract/peer.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const WHERE = `import { operation } from '${SOURCE}'
  export const where = operation('v1:Where', { run: () => process.pid })`

async function serveWhere(given?: string) {
  const folder = given ?? (await temporaryFolder({ 'ops.ts': WHERE }))
  const server = await serveProcess([join(folder, 'ops.ts'), '--workers', '2', '--data', join(folder, 'data')])
  /** Each on a new connection, so that workers alternate. */
  const where = async () => (await callOver(server.url, 'v1:Where', {}, { Connection: 'close' })).body.result as number
  return { server, where }
}

test('both workers respond at one address, a killed worker is replaced, and SIGTERM ends all with 0', async () => {
  const { server, where } = await serveWhere()
  const first = new Set([await where(), await where()])
  const [victim] = first as unknown as [number]

  process.kill(victim, 'SIGKILL')
  const complaint = await server.complaint('starting another')
  const seen = new Set<number>()
  await expect
    .poll(
      async () => {
        seen.add(await where().catch(() => victim))
        return [...seen].filter((pid) => pid !== victim).length
      },
      { timeout: 30_000 },
    )
    .toBe(2)
  server.kill('SIGTERM')

  expect(first.size).toBe(2)
  expect(server.started).toMatchObject({ workers: 2 })
  expect(complaint).toMatch(`(process ${victim}) was ended by SIGKILL; starting another in 100 ms.`)
  expect(await server.ended).toBe(0)
  for (const pid of [...first, ...seen]) expect(isAlive(pid)).toBe(false)
})

test('a session of the console is one at both workers', async () => {
  const folder = await temporaryFolder({ 'ops.ts': WHERE })
  const data = join(folder, 'data')
  const server = await serveProcess([join(folder, 'ops.ts'), '--workers', '2', '--data', data])
  const { stdout } = await runProcess(['login-link', '--url', server.url, '--data', data])
  const code = stdout.trim().split('code=')[1]
  // Each on a new connection, so that workers alternate.
  const logIn = () =>
    fetch(`${server.url}/console/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Connection: 'close' },
      body: JSON.stringify({ code }),
    })
  const { session } = (await (await logIn()).json()) as { session: string }
  const later = [await logIn(), await logIn()]
  const headers = { Authorization: `Bearer ${session}`, Connection: 'close' }
  const whoAmI = async () => (await callOver(server.url, 'v1:callplane.whoami', {}, headers)).body.result
  const where = async () => (await callOver(server.url, 'v1:Where', {}, headers)).body.result

  const pids = new Set([await where(), await where(), await where(), await where()])
  const told = [await whoAmI(), await whoAmI()]

  expect(later.map(({ status }) => status)).toEqual([401, 401])
  expect(pids.size).toBe(2)
  for (const who of told) expect(who).toMatchObject({ session: { idleSeconds: 3600 } })
})

test('when the hub is killed, its workers end by themselves with a failure exit code', async () => {
  const folder = await temporaryFolder({
    'ops.ts': `${WHERE}
      import { writeFileSync } from 'node:fs'
      process.on('exit', (code) => writeFileSync(new URL(String(process.pid), import.meta.url), String(code)))`,
  })
  const { server, where } = await serveWhere(folder)
  const workers = [await where(), await where()]

  server.kill('SIGKILL')
  await server.ended

  await expect.poll(() => workers.filter(isAlive)).toEqual([])
  expect(workers.map((pid) => readFileSync(join(folder, String(pid)), 'utf8'))).toEqual(['1', '1'])
})

test('a request that waits for the store when the hub is killed gets a retryable failure', async () => {
  const { server, where } = await serveWhere()
  const workers = [await where(), await where()]
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  // A separate connection to a worker: no new ones are distributed while the hub is stopped.
  await getOver(agent, `${server.url}/ops/r1`)

  server.kill('SIGSTOP')
  const waiting = getOver(agent, `${server.url}/ops/r2`)
  server.kill('SIGKILL')

  expect(await waiting).toMatchObject({ status: 503, retryAfter: '1' })
  await expect.poll(() => workers.filter(isAlive)).toEqual([])
})

test('a worker that is asked to end leaves what it has counted', async () => {
  const { server, where } = await serveWhere()
  const calls = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return /^callplane_calls_total\{operation="v1:Where"[^}]*\} (\d+)$/m.exec(text)?.[1]
  }
  const pids = [await where(), await where(), await where(), await where()]

  process.kill(pids[0] as number, 'SIGTERM')
  await server.complaint('starting another')

  expect(await calls()).toBe('4')
})

test('the Tool Contract over gRPC is served by all workers at one port', async () => {
  const folder = await temporaryFolder({
    'ops.ts': `import { operation } from '${SOURCE}'
      export const where = operation('v1:sys.where', { run: () => ({ pid: process.pid }) })
      export const later = operation('v1:sys.later', { model: 'async', run: () => ({ pid: process.pid }) })`,
  })
  const port = String(await freePort())
  const data = join(folder, 'data')
  await serveProcess([join(folder, 'ops.ts'), '--workers', '2', '--grpc-port', port, '--data', data])
  /** Each on a new connection. */
  const execute = (requestId: string, tool: string) =>
    grpcPeer(`http://127.0.0.1:${port}`)(request(requestId, tool)) as Promise<{
      status: string
      output: { pid: number }
    }>

  const answers = [await execute('a', 'sys_where'), await execute('b', 'sys_where')]
  const first = await execute('c', 'sys_later')
  const again = [await execute('c', 'sys_later'), await execute('c', 'sys_later')]

  expect(new Set(answers.map(({ output }) => output.pid)).size).toBe(2)
  // Whichever worker the repeats came to, they were given what was stored.
  expect(first.status).toBe('ok')
  expect(again.map(({ output }) => output)).toEqual([first.output, first.output])
})

test('asked to end while it starts, the server ends with 0, and its worker with it', async () => {
  const folder = await temporaryFolder({
    'ops.ts': `import { writeFileSync } from 'node:fs'
      writeFileSync(new URL('pid', import.meta.url), String(process.pid))
      setInterval(() => {}, 1_000)
      await new Promise(() => {})`,
  })
  const running = startProcess(['serve', join(folder, 'ops.ts'), '--workers', '2', '--data', join(folder, 'data')])
  const pid = () => Number(readFileSync(join(folder, 'pid'), 'utf8'))
  await expect.poll(() => existsSync(join(folder, 'pid')) && pid(), { timeout: 30_000 }).toBeGreaterThan(0)

  running.kill('SIGTERM')

  expect(await running.ended).toBe(0)
  expect(isAlive(pid())).toBe(false)
})

test('--debug is for the workers as well', async () => {
  const folder = await temporaryFolder({ 'bad.ts': 'throw new Error("DB_URL is not set")' })

  const { stderr } = await runProcess(['serve', join(folder, 'bad.ts'), '--workers', '1', '--port', '0', '--debug'])

  expect(stderr).toMatch(/caused by: Error: DB_URL is not set\n +at /)
})

test('a failed start is reported once, with the exit code of one process', async () => {
  const blocker = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void blocker.close())
  await new Promise((resolve) => blocker.once('listening', resolve))
  const { port } = blocker.address() as AddressInfo
  const folder = await temporaryFolder({ 'bad.ts': 'throw new Error("DB_URL is not set")' })
  const serve = (...args: string[]) =>
    runProcess(['serve', ...args, '--workers', '2', '--data', join(folder, `data-${args.length}`)])

  const [inUse, broken, watched] = await Promise.all([
    serve(QUICKSTART, '--port', String(port)),
    serve(join(folder, 'bad.ts'), '--port', '0'),
    serve(QUICKSTART, '--watch'),
  ])

  expect(inUse.stderr).toBe(
    `callplane: 127.0.0.1:${port} is in use; choose another port, or stop what listens there.\n`,
  )
  expect([inUse.code, inUse.stdout]).toEqual([1, ''])
  expect(broken.stderr.match(/DB_URL is not set/g)).toHaveLength(1)
  expect(broken.code).toBe(1)
  expect(watched.stderr).toMatch(/^callplane: --watch works with one process only\. Leave out --watch or --workers\.\n/)
  expect(watched.code).toBe(2)
})

describe('the published cases', () => {
  const protocols: [ConformanceProtocol, string][] = [
    ['opencall', ''],
    ['oxp', ''],
    ['otc', '/otc'],
    ['rest', ''],
  ]

  test('are met by two workers, on every connection', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'ops.ts'), withNotesIn(join(folder, 'notes')))
    const { url } = await serveProcess([join(folder, 'ops.ts'), '--workers', '2', '--data', join(folder, 'data')])
    for (const [protocol, base] of protocols) {
      const target = { url: url + base, ...quickstartParts(protocol) }
      const verdicts = await judge(conformanceCases(protocol), target)
      const having = (outcome: string) => verdicts.filter((verdict) => verdict.outcome === outcome)

      expect([protocol, having('unmet')]).toEqual([protocol, []])
      expect(having('met').length).toBeGreaterThan(10)
    }
  })
})

/** The quickstart counts its notes in memory, which each process has for itself; here they are lines in a file. */
function withNotesIn(file: string): string {
  return `
    import { appendFileSync, readFileSync } from 'node:fs'
    import * as quickstart from '${QUICKSTART}/operations.ts'
    const { addNote, ...rest } = quickstart
    const run = (_args: unknown, { key }: { key: string }) => {
      appendFileSync('${file}', key + '\\n')
      return { id: key, notes: new Set(readFileSync('${file}', 'utf8').trim().split('\\n')).size }
    }
    export default [...Object.values(rest), { ...addNote, run }]`
}

/** From its start, whether or not it comes to listen. */
function startProcess(args: readonly string[]): { kill(signal: NodeJS.Signals): void; ended: Promise<number | null> } {
  const main = join(import.meta.dirname, '../../src/cli/main.ts')
  const child = spawn(process.execPath, ['--conditions=callplane-source', main, ...args, '--port', '0'], {
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    kill: (signal) => void child.kill(signal),
    ended: once(child, 'exit').then(([code]) => code as number | null),
  }
}

async function getOver(agent: Agent, url: string): Promise<{ status?: number; retryAfter?: string }> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  const { statusCode, headers } = response
  return {
    ...(statusCode && { status: statusCode }),
    ...(headers['retry-after'] && { retryAfter: headers['retry-after'] }),
  }
}

function isAlive(pid: number): boolean {
  try {
    // One that has ended and was not waited for yet is a zombie.
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw thrown
  }
}
