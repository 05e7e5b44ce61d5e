/** Real servers, each a process of its own, on one database. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { callOver, runProcess, SOURCE, serveProcess, temporaryFolder } from '../../cli/processes.ts'
import { runCommand } from '../../cli/streams.ts'
import { describeWith, postgresServer } from '../../engines/engines.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'

/** `stuck` never ends on a node that is started with STUCK. */
const OPERATIONS = `
import { operation } from '${SOURCE}'
export const quick = operation('v1:quick', { model: 'async', run: () => process.pid })
export const stuck = operation('v1:stuck', {
  model: 'async',
  run: (_args, ctx) => (process.env.STUCK ? new Promise(() => {}) : { pid: process.pid, attempt: ctx.attempt }),
})
export const steps = operation('v1:steps', {
  model: 'async',
  run: async (_args, ctx) => {
    await ctx.progress(0.5)
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    throw ctx.signal.reason
  },
})
export const server = { work: { leaseMs: 2_000, claimEveryMs: 500 }, limits: { pollBurst: 1_000 } }
`

const waitFor = async (url: string, requestId: string) => {
  for (;;) {
    const response = await fetch(`${url}/ops/${requestId}`, { headers: { Prefer: 'wait=10' } })
    const body = (await response.json()) as { state: string; result?: unknown; error?: { code: string } }
    if (body.state === 'complete' || body.state === 'error') return body
  }
}

describeWith(postgresServer, 'servers on one Postgres', () => {
  let server: Postgres

  beforeAll(async () => {
    // The tests have a data folder each. Servers on one database must still have the same keys.
    for (const name of ['CALLPLANE_VAULT_KEY', 'CALLPLANE_LINK_KEY']) vi.stubEnv(name, randomBytes(32).toString('hex'))
    server = await startPostgres()
  }, 60_000)
  afterAll(() => vi.unstubAllEnvs())
  afterAll(() => server[Symbol.asyncDispose]())

  test('a call is made on one server, and polled, waited for and canceled on another', async () => {
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS })
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`]
    const env = { CALLPLANE_STORE: server.url }
    const [one, other] = [await serveProcess(args, { env }), await serveProcess(args, { env })]

    const { status, body } = await callOver(one.url, 'v1:quick')
    const ended = await waitFor(other.url, body.requestId)
    const running = await callOver(one.url, 'v1:steps')
    const canceling = await fetch(`${other.url}/ops/${running.body.requestId}`, { method: 'DELETE' })
    const canceled = await waitFor(one.url, running.body.requestId)

    expect(status).toBe(202)
    expect(ended).toMatchObject({ state: 'complete' })
    expect(canceling.status).toBeLessThan(300)
    expect(canceled).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  }, 60_000)

  test('when a server is killed, another runs its calls', async () => {
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS })
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`, '--store', server.url]
    const dying = await serveProcess(args, { env: { STUCK: '1' } })
    const other = await serveProcess(args)
    const calls = await Promise.all(Array.from({ length: 20 }, () => callOver(dying.url, 'v1:stuck')))
    // Some of them are claimed by the other server, if the first has no room. Those of the first are stuck.

    dying.kill('SIGKILL')
    await dying.ended
    const ends = await Promise.all(calls.map(({ body }) => waitFor(other.url, body.requestId)))

    for (const end of ends) expect(end).toMatchObject({ state: 'complete', result: { pid: other.started.pid } })
    expect(ends.some(({ result }) => (result as { attempt: number }).attempt > 1)).toBe(true)
  }, 60_000)

  test('without its database a server refuses calls and says that it is not ready, and comes back by itself', async () => {
    await using own = await startPostgres()
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS })
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`, '--store', own.url]
    const { url } = await serveProcess(args)
    const until = async (fits: () => Promise<boolean>) => {
      while (!(await fits())) await new Promise((resolve) => setImmediate(resolve))
    }
    const readiness = async () => (await fetch(`${url}/ready`)).status

    await own.stop()
    const refused = await fetch(`${url}/call`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ op: 'v1:quick' }),
    })
    await until(async () => (await readiness()) === 503)
    await own.restart()
    await until(async () => (await callOver(url, 'v1:quick')).status === 202)
    await until(async () => (await readiness()) === 200)

    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('2')
  }, 60_000)

  test('several workers share the database without a file', async () => {
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS })
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`, '--store', server.url, '--workers', '2']

    const { url } = await serveProcess(args)
    const calls = await Promise.all(Array.from({ length: 10 }, () => callOver(url, 'v1:quick')))

    for (const { body } of calls) expect(await waitFor(url, body.requestId)).toMatchObject({ state: 'complete' })
  }, 60_000)

  test('the command line reads the secrets of a database, and refuses other addresses', async () => {
    const folder = await temporaryFolder({ 'operations.mjs': OPERATIONS })
    const where = ['--data', `${folder}/data`, '--store', server.url]

    const listed = await runProcess(['secrets', 'list', '--json', ...where])
    const other = [...where, '--schema', 'other']
    const set = await runCommand(['secrets', 'set', 'only-there', ...other], { stdin: 'a value' })
    const [there, here] = [
      await runCommand(['secrets', 'list', ...other]),
      await runCommand(['secrets', 'list', ...where]),
    ]
    const nowhere = await runCommand(['secrets', 'list', '--data', `${folder}/data`, '--schema', 'other'])
    const elsewhere = await runProcess(['serve', `${folder}/operations.mjs`, '--store', 'mysql://somewhere'])

    expect(listed).toMatchObject({ code: 0, stderr: '' })
    expect(set).toMatchObject({ code: 0 })
    expect([there.stdout, here.stdout]).toEqual(['only-there\n', ''])
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--store') })
    expect(elsewhere.code).not.toBe(0)
    expect(elsewhere.stderr).toContain('postgres://user@host')
  }, 60_000)
})
