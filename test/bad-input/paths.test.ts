/** Unknown paths, ids, cursors and methods: each response says where to go. */
import { createToken } from 'callplane'
import { expect, test } from 'vitest'
import { say } from '../carriers/http-fixture.ts'
import { verifies } from '../requirements.ts'
import { type Envelope, expectRefusal, expectRefusalEnvelope, startServer } from './server.ts'

const ids: [what: string, segment: string][] = [
  ['that no call has', 'no-such-call'],
  ['with an escaped slash', 'a%2Fb'],
  ['that climbs out of a folder', '%2e%2e%2f%2e%2e%2fcallplane.db'],
  ['that is two escaped dots', '%2e%2e'],
  ['with a NUL', 'a%00b'],
  ['with a line break', 'a%0d%0ab'],
  ['that is not ASCII', encodeURIComponent('ä😀')],
  ['of 10,000 characters', 'x'.repeat(10_000)],
  ['named after what every object has', '__proto__'],
  ['with quotes and statements', encodeURIComponent(`'; DROP TABLE instances; --`)],
]

test.each(ids)('an id %s is 404 wherever an id can stand', async (_, segment) => {
  verifies('opencall:112', 'opencall:131', 'opencall:174')
  const server = await startServer()

  // Over a bare socket: clients resolve dots, escaped ones too, before they send.
  const ask = (method: string, path: string) =>
    say(server.port, `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)

  for (const path of [`/ops/${segment}`, `/ops/${segment}/chunks`, `/ops/${segment}/events`, `/objects/${segment}`]) {
    const answer = await ask('GET', path)
    const { message } = expectRefusalEnvelope(status(answer), body(answer), 404, 'NOT_FOUND')
    expect(message).toMatch(/or it has expired/)
  }
  const canceled = await ask('DELETE', `/ops/${segment}`)
  expectRefusalEnvelope(status(canceled), body(canceled), 404, 'NOT_FOUND')
  await server.expectUnharmed()
})

test('an invalid escape is 400, and the message says how to write a percent sign', async () => {
  const server = await startServer()

  for (const path of ['/ops/%', '/ops/%zz', '/ops/%c3%28', '/objects/%e0%a4%a']) {
    const answer = await say(server.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)

    const { message } = expectRefusalEnvelope(status(answer), body(answer), 400, 'INVALID_PATH')
    expect(message).toContain('"%25"')
  }
  await server.expectUnharmed()
})

const nowhere = [
  '/',
  '/call/',
  '//call',
  '/Call',
  '/%63all',
  '/ops',
  '/ops/',
  '/ops/x/',
  '/ops/x/other',
  '/ops/x/chunks/',
]
const dots = ['/ops/../call', '/./call', '/.well-known/../call', '/.well-known', '/.well-known/ops/', '/objects/', '/*']

test.each([...nowhere, ...dots])('%s is an unknown path: 404 with advice, and nothing is normalised', async (path) => {
  verifies('opencall:103', 'opencall:139')
  const server = await startServer()
  const content = '{"op":"v1:Calculator.Add","args":{"a":1,"b":2}}'

  // Over a bare socket: clients resolve dots before they send.
  const answer = await say(
    server.port,
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${content.length}\r\n\r\n${content}`,
  )

  const { message } = expectRefusalEnvelope(status(answer), body(answer), 404, 'NOT_FOUND')
  expect(message).toMatch(/POST \/call .* GET \/\.well-known\/ops/)
  await server.expectUnharmed()
})

const known: [path: string, allow: string[]][] = [
  ['/call', ['POST']],
  ['/ops/x', ['GET', 'DELETE', 'HEAD']],
  ['/ops/x/chunks', ['GET', 'HEAD']],
  ['/ops/x/events', ['GET', 'HEAD']],
  ['/objects/x', ['GET', 'HEAD']],
  ['/.well-known/ops', ['GET', 'HEAD']],
  ['/ready', ['GET', 'HEAD']],
  ['/metrics', ['GET', 'HEAD']],
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'PROPFIND']

test.each(known)('%s takes its own methods, answers OPTIONS and refuses all others with Allow', async (path, allow) => {
  verifies('opencall:113')
  if (path === '/call') verifies('opencall:007', 'opencall:008', 'opencall:009', 'opencall:010')
  const server = await startServer()
  const listed = (response: Response) => response.headers.get('allow')?.split(', ').sort()
  const wanted = [...allow].sort()

  for (const method of METHODS.filter((candidate) => !allow.includes(candidate))) {
    const response = await fetch(server.url + path, { method })

    expect([method, response.status, listed(response)]).toEqual([method, 405, wanted])
    // An answer to HEAD has no body.
    if (method === 'HEAD') continue
    const { message, cause } = await expectRefusal(response, 405, 'METHOD_NOT_ALLOWED')
    expect(message).toMatch(path === '/call' ? /POST \/call .* GET \/\.well-known\/ops/ : /This path accepts only/)
    expect(cause).toEqual({ allow: expect.arrayContaining(wanted) })
  }
  const options = await fetch(server.url + path, { method: 'OPTIONS' })
  expect([options.status, listed(options), await options.text()]).toEqual([204, [...allow, 'OPTIONS'].sort(), ''])
  await server.expectUnharmed()
})

test('HEAD says of a refusal what GET says, without its body', async () => {
  const server = await startServer()

  const head = await fetch(`${server.url}/ops/x`, { method: 'HEAD' })
  const registry = await fetch(`${server.url}/.well-known/ops`, { method: 'HEAD' })

  expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([404, 'application/json', ''])
  expect([registry.status, registry.headers.get('etag') !== null, await registry.text()]).toEqual([200, true, ''])
  await server.expectUnharmed()
})

const cursors = [
  '',
  'c',
  'C1',
  'c-1',
  'c1.5',
  'c99',
  'czzzzzzzzz',
  'c1234567890',
  '0',
  'null',
  '__proto__',
  '%00',
  'c0%20',
  'x'.repeat(5_000),
]

test('a cursor that is not one of ours is 400, and says where to start again', async () => {
  const server = await startServer()
  const call = await server.call({ op: 'v1:Rows.Export', ctx: { requestId: 'rows' } }, { Prefer: 'wait=5' })
  expect(((await call.json()) as Envelope).state).toBe('complete')

  for (const cursor of cursors) {
    const response = await fetch(`${server.url}/ops/rows/chunks?cursor=${cursor}`)

    const { requestId, message } = await expectRefusal(response, 400, 'INVALID_CURSOR')
    expect(requestId).toBe('rows')
    expect(message).toMatch(/leave it out for the first|without a cursor/)
  }
  const first = await fetch(`${server.url}/ops/rows/chunks`)
  expect(await first.json()).toMatchObject({ state: 'complete', data: 'a,b\n1,2\n', cursor: null })
})

test('the chunks of a call that has none are 404, and the message says where its result is', async () => {
  const server = await startServer()
  await server.call({ op: 'v1:Jobs.Run', args: { text: 'x' }, ctx: { requestId: 'job' } }, { Prefer: 'wait=5' })

  const response = await fetch(`${server.url}/ops/job/chunks`)

  expect((await expectRefusal(response, 404, 'NOT_FOUND')).message).toMatch(/Poll the call to get it/)
})

test("another caller's id is as unknown as an id that never existed, for every request", async () => {
  verifies('opencall:112', 'opencall:131', 'opencall:174')
  const [ada, eve] = [createToken(), createToken()]
  const token = (hash: string, subject: string) => ({ hash, kind: 'bearer' as const, subject, scopes: [] })
  const server = await startServer({ auth: { tokens: [token(ada.hash, 'ada'), token(eve.hash, 'eve')] } })
  const as = (who: { token: string }) => ({ Authorization: `Bearer ${who.token}` })
  await server.call({ op: 'v1:Rows.Export', ctx: { requestId: 'hers' } }, { ...as(ada), Prefer: 'wait=5' })

  for (const path of ['/ops/ID', '/ops/ID/chunks', '/ops/ID/events']) {
    const [hers, nobodys] = await Promise.all(
      ['hers', 'nobodys'].map((id) => fetch(server.url + path.replace('ID', id), { headers: as(eve) })),
    )
    const refusal = await expectRefusal(hers as Response, 404, 'NOT_FOUND')
    const other = await expectRefusal(nobodys as Response, 404, 'NOT_FOUND')
    expect(refusal.message).toBe(other.message.replace('nobodys', 'hers'))
  }
  const canceled = await fetch(`${server.url}/ops/hers`, { method: 'DELETE', headers: as(eve) })
  await expectRefusal(canceled, 404, 'NOT_FOUND')

  const own = await fetch(`${server.url}/ops/hers`, { headers: as(ada) })
  expect(await own.json()).toMatchObject({ requestId: 'hers', state: 'complete' })
})

function status(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}

function body(answer: string): Envelope {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as Envelope
}
