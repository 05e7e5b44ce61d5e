/** A server that stops hands its calls to the others, which need not wait for a lease. */
import { appendFile, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callOver, runProcess, type Served, SOURCE, serveProcess, temporaryFolder } from '../../cli/processes.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'

/**
 * On a node that is started with STUCK, a call ends only when it is asked to stop. Leases and the intervals between two
 * looks at the queue are minutes long, so a node gets a call of another one only if it is told.
 */
const OPERATIONS = `
import { appendFileSync } from 'node:fs'
import { operation } from '${SOURCE}'
export const job = operation('v1:job', {
  model: 'async',
  run: ({ name }, ctx) => {
    appendFileSync(process.env.EFFECTS, name + ' ' + (process.env.STUCK ? 'began' : 'done') + '\\n')
    if (process.env.STUCK) return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    return { pid: process.pid, attempt: ctx.attempt }
  },
})
export const server = {
  work: { leaseMs: 600_000, claimEveryMs: 600_000 },
  limits: { runningCalls: process.env.STUCK ? 2 : 64, reservedCalls: 0 },
}
`

interface Ended {
  state: string
  result?: { pid: number; attempt: number }
}

async function endOf(url: string, requestId: string): Promise<Ended> {
  for (;;) {
    const response = await fetch(`${url}/ops/${requestId}`, { headers: { Prefer: 'wait=10' } })
    const body = (await response.json()) as Ended
    if (body.state === 'complete' || body.state === 'error') return body
  }
}

describeWith(postgresServer, 'a stopping server on Postgres', () => {
  let database: Postgres

  beforeAll(async () => {
    database = await startPostgres()
  }, 60_000)
  afterAll(() => database[Symbol.asyncDispose]())

  async function startTwo(schema: string): Promise<{ stopping: Served; other: Served; effects: string; at: string[] }> {
    const own = OPERATIONS.replace(
      'export const server = {',
      `export const server = { store: { url: '${database.url}', schema: '${schema}' },`,
    )
    const folder = await temporaryFolder({ 'operations.mjs': own })
    const effects = `${folder}/effects`
    await appendFile(effects, '')
    const at = ['--data', `${folder}/data`]
    const args = [`${folder}/operations.mjs`, ...at]
    const stopping = await serveProcess(args, { env: { STUCK: '1', EFFECTS: effects } })
    const other = await serveProcess(args, { env: { EFFECTS: effects } })
    return { stopping, other, effects, at }
  }

  const call = async (url: string, name: string) => (await callOver(url, 'v1:job', { name })).body.requestId
  const ready = async (url: string) => {
    const response = await fetch(`${url}/ready`)
    return { status: response.status, body: (await response.json()) as { status: string } }
  }

  test('its queued calls run elsewhere at once, its running ones when they are handed back, each to one end', async () => {
    const { stopping, other, effects } = await startTwo('one')
    const names = ['a', 'b', 'c', 'd', 'e']
    const ids: string[] = []
    for (const name of names) ids.push(await call(stopping.url, name))
    await expect.poll(() => readFile(effects, 'utf8')).toBe('a began\nb began\n')

    stopping.kill('SIGTERM')
    const queued = await Promise.all(ids.slice(2).map((id) => endOf(other.url, id)))
    const readiness = await ready(stopping.url)
    const refused = await callOver(stopping.url, 'v1:job', { name: 'late' })
    const running = await (await fetch(`${other.url}/ops/${ids[0]}`)).json()
    const handedBack = await Promise.all(ids.slice(0, 2).map((id) => endOf(other.url, id)))
    const code = await stopping.ended

    for (const end of queued)
      expect(end).toMatchObject({ state: 'complete', result: { pid: other.started.pid, attempt: 1 } })
    expect(readiness).toMatchObject({ status: 503, body: { status: 'draining' } })
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'PANIC_SHUTTING_DOWN' } } })
    expect(running).toMatchObject({ state: 'pending' })
    for (const end of handedBack)
      expect(end).toMatchObject({ state: 'complete', result: { pid: other.started.pid, attempt: 2 } })
    expect(code).toBe(0)
    const lines = (await readFile(effects, 'utf8')).trim().split('\n')
    expect(lines.filter((line) => line.endsWith('done')).sort()).toEqual(names.map((name) => `${name} done`))
  }, 60_000)

  test('is listed with the others by any of them, with what it runs', async () => {
    const { stopping, other, effects, at } = await startTwo('three')
    await call(stopping.url, 'a')
    await expect.poll(() => readFile(effects, 'utf8')).toBe('a began\n')
    const listed = async () => {
      const { stdout } = await runProcess(['nodes', '--url', other.url, ...at])
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    }

    // What a node tells of itself is as old as its last beat.
    await expect.poll(listed, { timeout: 30_000 }).toMatchObject([
      {
        pid: stopping.started.pid,
        address: stopping.url,
        draining: false,
        schema: expect.any(Number),
        operations: [{ operation: 'v1:job@1.0.0', calls: 1 }],
      },
      { pid: other.started.pid, address: other.url, operations: [] },
    ])
  }, 60_000)

  test('a second signal ends it at once', async () => {
    const { stopping, effects } = await startTwo('two')
    await call(stopping.url, 'a')
    await expect.poll(() => readFile(effects, 'utf8')).toBe('a began\n')

    stopping.kill('SIGTERM')
    await expect.poll(async () => (await ready(stopping.url)).body.status).toBe('draining')
    stopping.kill('SIGTERM')

    // 128 + SIGTERM.
    expect(await stopping.ended).toBe(143)
  }, 60_000)
})
