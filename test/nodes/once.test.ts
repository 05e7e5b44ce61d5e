/** What only one of several servers does, and what all of them see. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { operation } from 'callplane'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openSocket } from '../carriers/websocket/client.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { ask, WITH_TASKS } from '../scenarios/mcp.ts'
import { createGate, type Site, temporaryFolder } from '../scenarios/server.ts'
import { startNodes, WORK as work } from './sites.ts'

type Pair = [Site, Site]

/** Answers every request with this JSON, and keeps what was sent. */
async function startReceiver(answer: (count: number) => unknown) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const count = bodies.push(await text(request))
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer(count)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describeWith(postgresServer, 'several servers on one Postgres', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  test('fetch an access token once for all, and again after the tool refused it', async () => {
    const endpoint = await startReceiver((count) => ({
      access_token: `token-number-${count}`,
      token_type: 'Bearer',
      expires_in: 3600,
    }))
    const seen: (string | undefined)[] = []
    const tool = createServer((request, response) => {
      request.resume()
      const { authorization } = request.headers
      seen.push(authorization)
      const answer = { request_id: 'x', status: 'ok', output: authorization }
      const refused = seen.length === 5
      response.writeHead(refused ? 401 : 200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
    })
    await once(tool.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void tool.close().closeAllConnections())
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'crm'))
    writeFileSync(join(folder, 'crm', 'client_id'), 'callplane')
    writeFileSync(join(folder, 'crm', 'client_secret'), 'a-secret-of-the-crm')
    const tokenURL = `${endpoint.url}/token`
    const look = operation('v1:crm.look', {
      backend: {
        kind: 'http',
        endpoint: `http://127.0.0.1:${(tool.address() as AddressInfo).port}`,
        allowPrivate: true,
      },
      auth: { profile: 'oauth2_client_credentials', secretRef: 'crm', tokenURL },
    })
    const options = {
      operations: [look],
      work,
      secrets: [{ kind: 'files' as const, folder }],
      tokenEndpoints: { [tokenURL]: { allowPrivate: true } },
    }
    const [here, there] = (await startNodes(postgres, { options })) as Pair

    await Promise.all([here, there, here, there].map((site) => site.call('v1:crm.look')))
    const before = endpoint.bodies.length
    await here.call('v1:crm.look')
    await there.call('v1:crm.look')
    const [{ records }] = (await postgres.query(
      `SELECT string_agg(value, ' ') AS records FROM ${await schemaOf(postgres)}.records`,
    )) as [{ records: string }]

    expect(before).toBe(1)
    expect(endpoint.bodies).toHaveLength(2)
    expect(seen.slice(0, 5)).toEqual(Array(5).fill('Bearer token-number-1'))
    expect(seen.at(-1)).toMatch(/token-number-[12]/)
    expect(records).not.toContain('token-number')
  }, 60_000)

  test('announce the end of a call once, although all of them look for announcements', async () => {
    const receiver = await startReceiver(() => ({}))
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'announce-key'), 'a-secret-that-only-both-know')
    const job = operation('v1:jobs.run', { model: 'async', run: () => 1 })
    const options = {
      operations: [job],
      work,
      secrets: [{ kind: 'files' as const, folder }],
      announce: { url: receiver.url, secretRef: 'announce-key', allowPrivate: true },
    }
    const sites = await startNodes(postgres, { options, count: 3 })
    const ids = Array.from({ length: 12 }, (_, n) => `j${n}`)

    await Promise.all(ids.map((requestId, n) => sites[n % 3]?.call('v1:jobs.run', {}, { requestId })))

    await expect.poll(() => receiver.bodies.length, { timeout: 10_000 }).toBe(12)
    const told = receiver.bodies.map((body) => (JSON.parse(body) as { id: string }).id)
    expect(new Set(told).size).toBe(12)
  }, 60_000)

  test('one of them does maintenance, and another goes on when it ends', async () => {
    const sites = (await startNodes(postgres, { options: { operations: [], work }, count: 2 })) as Pair
    const schema = await schemaOf(postgres)
    const leader = async () =>
      (
        await postgres.query<{ value: string }>(`SELECT value FROM ${schema}.records WHERE key = 'maintenance:leader'`)
      )[0]?.value

    const first = await leader()
    await sites[0].close()

    expect(first).toBeDefined()
    await expect.poll(leader, { timeout: 20_000 }).not.toBeOneOf([first, undefined])
  }, 60_000)

  test('a WebSocket gets the end of a call that another server runs', async () => {
    const [gate, end] = [createGate<number>(), createGate<number>()]
    const slow = operation('v1:jobs.slow', {
      model: 'async',
      run: (_args, { requestId }) => (requestId === 'r1' ? gate.pass() : end.pass()),
    })
    const options = { operations: [slow], work, limits: { runningCalls: 1 }, websocket: true }
    const [here] = (await startNodes(postgres, { options })) as Pair
    await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
    await gate.began
    const socket = await openSocket(`${here.url}/call`)

    // Its only slot is taken, so the other server runs it.
    socket.call('v1:jobs.slow', {}, { requestId: 'r2' })
    const accepted = await socket.envelope()
    await end.began
    end.open(7)
    let last = await socket.envelope()
    while (last.state !== 'complete') last = await socket.envelope()
    gate.open(1)

    expect(accepted.state).toBe('accepted')
    expect(last).toMatchObject({ requestId: 'r2', result: 7 })
  }, 60_000)

  test('an MCP task of one server is followed and canceled at another', async () => {
    const gate = createGate<number>()
    const report = operation('v1:reports.make', { model: 'async', run: () => gate.pass() })
    const endless = operation('v1:it.waits', {
      model: 'async',
      run: (_args, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const options = { operations: [report, endless], work, limits: { pollBurst: 10_000 } }
    const [here, there] = (await startNodes(postgres, { options })) as Pair
    const asking = { capabilities: WITH_TASKS }
    const create = async (name: string) =>
      (await ask(here, 'tools/call', { name, arguments: {} }, asking)).json.result.taskId
    const statusOf = async (taskId: string) => (await ask(there, 'tasks/get', { taskId }, asking)).json.result.status
    const [made, stopped] = [await create('reports_make'), await create('it_waits')]
    await gate.began

    const working = await statusOf(made)
    gate.open(3)
    await ask(there, 'tasks/cancel', { taskId: stopped }, asking)

    expect(working).toBe('working')
    await expect.poll(() => statusOf(made)).toBe('completed')
    await expect.poll(() => statusOf(stopped)).toBe('cancelled')
  }, 60_000)
})

/** The schema of the running test's servers. */
async function schemaOf(postgres: Postgres): Promise<string> {
  const rows = await postgres.query<{ name: string }>(
    "SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'nodes_%' ORDER BY oid DESC LIMIT 1",
  )
  return rows[0]?.name ?? ''
}
