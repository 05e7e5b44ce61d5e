/** Two cells, each with a store of its own. Clients may send any request to either. */
import { createServer as createHttpServer } from 'node:http'
import { createServer, createToken, operation, type ServerOptions } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { STATIC_ISSUER } from '../../src/security/identity/tokens.ts'
import { slotOfCaller } from '../../src/server/cells/caller-slot.ts'
import { openSocket } from '../carriers/websocket/client.ts'
import { counting } from '../carriers/websocket/operations.ts'
import { freePort } from '../engines/free-port.ts'
import { temporaryFolder } from './server.ts'

const where = (cell: string) => operation('v1:cells.where', { run: (_args, ctx) => `${ctx.caller.subject} in ${cell}` })
const later = operation('v1:cells.later', { model: 'async', run: () => ({ done: true }) })
const rows = operation('v1:cells.rows', {
  args: z.object({}),
  chunked: { mimeType: 'text/csv' },
  async *run() {
    yield '1,item\n'
  },
})

/** The slot of each subject decides: find one for each half. */
function subjectIn(half: 0 | 1, issuer = STATIC_ISSUER): string {
  for (let at = 0; ; at++) {
    const subject = `caller-${at}`
    const slot = slotOfCaller({ tenant: 'main', issuer, subject, scopes: [] })
    if (Math.floor(slot / 2_048) === half) return subject
  }
}

const ada = { subject: subjectIn(0), ...createToken() }
const bob = { subject: subjectIn(1), ...createToken() }
const operator = { subject: subjectIn(0), ...createToken() }
const auth = {
  tokens: [
    ...[ada, bob].map(({ subject, hash }) => ({ subject, hash, kind: 'bearer' as const, scopes: [] })),
    { subject: operator.subject, hash: operator.hash, kind: 'bearer' as const, scopes: ['callplane:admin'] },
  ],
}

async function startCells(more: Partial<ServerOptions> = {}) {
  const ports = [await freePort(), await freePort()]
  const [a, b] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string]
  const cells = [
    { name: 'a', url: a, slots: '0-2047' },
    { name: 'b', url: b, slots: '2048-4095' },
  ]
  for (const [at, self] of ['a', 'b'].entries()) {
    const server = await createServer({
      operations: [where(self), later, rows, counting],
      data: temporaryFolder(),
      auth,
      cells: { self, cells },
      ...more,
    })
    await server.listen({ port: ports[at] as number })
    onTestFinished(() => server.close(0))
  }
  return { a, b }
}

async function send(url: string, { token }: { token: string }, op: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ op, args: {} }),
  })
  return { status: response.status, body: (await response.json()) as { requestId: string; result?: unknown } }
}

test('a call runs in the cell of its caller, through any cell', async () => {
  const { a, b } = await startCells()

  for (const url of [a, b]) {
    expect(await send(url, ada, 'v1:cells.where')).toMatchObject({ body: { result: `${ada.subject} in a` } })
    expect(await send(url, bob, 'v1:cells.where')).toMatchObject({ body: { result: `${bob.subject} in b` } })
  }
  expect((await fetch(`${b}/ops/unknown`)).status).toBe(401)
})

test('polls, server-sent events and chunks pass through the other cell', async () => {
  const { a } = await startCells()
  const headers = { authorization: `Bearer ${bob.token}` }
  const { body } = await send(a, bob, 'v1:cells.later')

  const ended = await fetch(`${a}/ops/${body.requestId}`, { headers: { ...headers, prefer: 'wait=10' } })
  const events = await fetch(`${a}/ops/${body.requestId}/events`, { headers })
  const chunked = await send(a, bob, 'v1:cells.rows')
  await fetch(`${a}/ops/${chunked.body.requestId}`, { headers: { ...headers, prefer: 'wait=10' } })
  const chunk = await fetch(`${a}/ops/${chunked.body.requestId}/chunks`, { headers })

  expect(await ended.json()).toMatchObject({ state: 'complete', result: { done: true } })
  expect(await events.text()).toMatch('"state":"complete"')
  expect(await chunk.json()).toMatchObject({ data: '1,item\n' })
})

test('a WebSocket and the reader of a stream reach the other cell, by credential and by ticket', async () => {
  const { a } = await startCells()
  const { call, envelope } = await openSocket(`${a}/call?access_token=${bob.token}`)

  call('v1:cells.where')
  expect((await envelope()).result).toBe(`${bob.subject} in b`)
  call('v1:clock.tick', { count: 1, transport: 'wss' })
  const { stream } = await envelope()
  const reader = await openSocket(`${stream?.location}?ticket=${stream?.auth?.credential}`)

  expect(stream?.location).toMatch(a.replace('http', 'ws'))
  expect((await reader.next()).text).toBe('{"n":1}')
})

test('a caller whose credential is not in a header is refused by the wrong cell', async () => {
  const sub = subjectIn(1, 'application')
  const { a, b } = await startCells({
    auth: { verify: ({ auth: presented }) => presented && { subject: presented.sub, issuer: 'application' } },
  })
  const call = async (url: string) => {
    const credential = { iss: 'application', sub, credentialType: 'bearer', credential: 'x' }
    const body = JSON.stringify({ op: 'v1:cells.where', args: {}, auth: credential })
    return (
      await fetch(`${url}/call`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).json()
  }

  expect(await call(a)).toMatchObject({ state: 'error', error: { code: 'WRONG_CELL' } })
  expect(await call(b)).toMatchObject({ result: `${sub} in b` })
})

test('an administrator names the cell', async () => {
  const { a } = await startCells()
  await send(a, bob, 'v1:cells.later')
  const list = (cell: string) => send(a, operator, 'v1:callplane.audit.list', { 'callplane-cell': cell })

  const [here, there] = [await list('a'), await list('b')]

  expect(JSON.stringify(here.body.result)).not.toMatch(bob.subject)
  expect(JSON.stringify(there.body.result)).toMatch(bob.subject)
  expect(await list('c')).toMatchObject({ status: 404, body: { error: { code: 'NO_SUCH_CELL' } } })
})

test('a cell that is away is 503 with a time to come back, and the others go on', async () => {
  const gone = `http://127.0.0.1:${await freePort()}`
  const port = await freePort()
  const cells = [
    { name: 'a', url: `http://127.0.0.1:${port}`, slots: '0-2047' },
    { name: 'b', url: gone, slots: '2048-4095' },
  ]
  const operations = [where('a')]
  const server = await createServer({ operations, data: temporaryFolder(), auth, cells: { self: 'a', cells } })
  const { url } = await server.listen({ port })
  onTestFinished(() => server.close(0))

  const refused = await send(url, bob, 'v1:cells.where')
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'PANIC_CELL_UNREACHABLE' } } })
  expect(await send(url, ada, 'v1:cells.where')).toMatchObject({ status: 200 })
})

test('cells whose maps differ do not forward a request twice', async () => {
  const { a } = await startCells()
  const twice = await send(a, bob, 'v1:cells.where', { 'callplane-cell': 'b', 'callplane-forwarded': 'b' })

  expect(twice).toMatchObject({ status: 503, body: { error: { code: 'PANIC_CELLS_DIFFER' } } })
})

test('the end of a forwarded response in the middle of its body is the end of the connection', async () => {
  const broken = createHttpServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half', () => response.destroy())
  })
  const port = await freePort()
  broken.listen(port, '127.0.0.1')
  onTestFinished(() => void broken.close())
  const cells = [
    { name: 'a', url: 'http://127.0.0.1:1', slots: '0-2047' },
    { name: 'b', url: `http://127.0.0.1:${port}`, slots: '2048-4095' },
  ]
  const server = await createServer({ operations: [], data: temporaryFolder(), auth, cells: { self: 'a', cells } })
  const { url } = await server.listen({ port: 0 })
  onTestFinished(() => server.close(0))

  await expect(send(url, bob, 'v1:cells.where')).rejects.toThrow()
})

test('a map that leaves out a slot, or names one twice, is refused at the start', async () => {
  const start = (cells: { name: string; url: string; slots: string }[], self = 'a') =>
    createServer({ operations: [], data: temporaryFolder(), auth, cells: { self, cells } })
  const url = 'http://127.0.0.1:4747'

  await expect(start([{ name: 'a', url, slots: '0-4094' }])).rejects.toThrow('The slot 4095 belongs to no cell')
  await expect(
    start([
      { name: 'a', url, slots: '0-4095' },
      { name: 'b', url, slots: '7' },
    ]),
  ).rejects.toThrow('The slot 7 belongs to the cells "a" and "b"')
  await expect(start([{ name: 'a', url, slots: '0-4095' }], 'z')).rejects.toThrow('There is no cell "z"')
  await expect(start([{ name: 'a', url: 'ftp://x', slots: '0-4095' }])).rejects.toThrow('http or https URL')
  await expect(
    createServer({
      operations: [],
      data: temporaryFolder(),
      cells: { self: 'a', cells: [{ name: 'a', url, slots: '0-4095' }] },
    }),
  ).rejects.toThrow('"cells" needs "auth"')
})
