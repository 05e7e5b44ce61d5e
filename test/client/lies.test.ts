/** Servers that lie, stall or answer nonsense: each ends in a fault that says what happened, and none is called twice. */
import { createHash } from 'node:crypto'
import { createClient } from 'callplane/client'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { idIn, json, type Lie, startLyingServer, type Told } from './lying-server.ts'

interface Operations {
  'v1:orders.get': { args: { id?: string }; result: { name: string } }
  'v1:orders.export': { args: { id?: string }; result: { kind: 'chunks'; mimeType: string } }
  'v1:orders.watch': { args: { id?: string }; result: unknown; frame: { n: number } }
}

const complete = (told: Told, more: object) => ({ requestId: idIn(told), state: 'complete', ...more })
const pending = (told: Told, more: object = {}) => ({
  requestId: idIn(told),
  state: 'pending',
  retryAfterMs: 1,
  ...more,
})
const sum = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

async function clientOf(lie: Lie, options: object = {}) {
  const server = await startLyingServer(lie)
  return { server, api: createClient<Operations>({ url: server.url, token: 'secret', ...options }) }
}

/** First this answer, then that one for ever. */
function first(answer: (told: Told) => object, then: Lie): Lie {
  return (told, response, count) => (count === 1 ? json(response, 202, answer(told)) : then(told, response, count))
}

const lies: [what: string, code: string, lie: Lie][] = [
  [
    'HTML for JSON',
    'NOT_OPENCALL',
    (_t, r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello'),
  ],
  ['JSON that is no envelope', 'NOT_OPENCALL', (_t, r) => json(r, 200, ['complete'])],
  ['a state that is no text', 'NOT_OPENCALL', (t, r) => json(r, 200, { ...complete(t, {}), state: 7 })],
  [
    'an error without a code',
    'NOT_OPENCALL',
    (t, r) => json(r, 200, { requestId: idIn(t), state: 'error', error: 'no' }),
  ],
  ['an empty body', 'NOT_OPENCALL', (_t, r) => void r.writeHead(200).end()],
  ['neither a result nor its address', 'NOT_OPENCALL', (t, r) => json(r, 200, complete(t, {}))],
  [
    'the result of another call',
    'WRONG_REPLY',
    (t, r) => json(r, 200, { ...complete(t, { result: 1 }), requestId: 'other' }),
  ],
  [
    'another call in a poll',
    'WRONG_REPLY',
    first(pending, (_t, r) => json(r, 200, { requestId: 'other', state: 'pending' })),
  ],
  [
    'a state that goes back',
    'STATE_WENT_BACK',
    first(pending, (t, r) => json(r, 202, { ...pending(t), state: 'accepted' })),
  ],
  ['an unknown state', 'UNKNOWN_STATE', first(pending, (t, r) => json(r, 202, { ...pending(t), state: 'dreaming' }))],
  ['a retention that is over', 'EXPIRED', first(pending, (t, r) => json(r, 202, pending(t, { expiresAt: 1_000 })))],
  [
    'a poll that finds nothing',
    'NOT_FOUND',
    first(pending, (t, r) =>
      json(r, 404, { requestId: idIn(t), state: 'error', error: { code: 'NOT_FOUND', message: 'no' } }),
    ),
  ],
  ['a redirect of the call', 'NOT_OPENCALL', (_t, r) => void r.writeHead(307, { location: '/elsewhere' }).end()],
  [
    'a redirect to itself, for ever',
    'TOO_MANY_REDIRECTS',
    (_t, r) => void r.writeHead(303, { location: '/round' }).end(),
  ],
  [
    'a script as the address',
    'UNSAFE_LOCATION',
    (t, r) => json(r, 202, complete(t, { location: { uri: 'javascript:alert(1)' } })),
  ],
  [
    'a file as the address',
    'UNSAFE_LOCATION',
    (t, r) => json(r, 202, complete(t, { location: { uri: 'file:///etc/passwd' } })),
  ],
  [
    'a poll at another server',
    'UNSAFE_LOCATION',
    (t, r) => json(r, 202, pending(t, { location: { uri: 'https://other.example/ops/1' } })),
  ],
  [
    'JSON that is cut off',
    'RESULT_UNREADABLE',
    (t, r) =>
      t.method === 'POST'
        ? json(r, 202, complete(t, { location: { uri: '/r' } }))
        : void r.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
  ],
  [
    'nothing at the address',
    'RESULT_UNREADABLE',
    (t, r) =>
      t.method === 'POST' ? json(r, 202, complete(t, { location: { uri: '/r' } })) : void r.writeHead(500).end(),
  ],
  [
    'more than is allowed',
    'RESPONSE_TOO_LARGE',
    (_t, r) => void r.writeHead(200, { 'content-length': '3000' }).end('x'.repeat(3_000)),
  ],
  [
    'more than is allowed, unannounced',
    'RESPONSE_TOO_LARGE',
    (_t, r) => {
      r.writeHead(200)
      for (let n = 0; n < 3; n++) r.write('x'.repeat(1_000))
      r.end()
    },
  ],
  ['no response', 'TIMED_OUT', () => {}],
  ['half a response', 'TIMED_OUT', (_t, r) => void r.writeHead(200, { 'content-length': '100' }).write('{')],
  ['a call that never ends', 'TIMED_OUT', (t, r) => json(r, 202, pending(t))],
  [
    'a delay of a year',
    'TIMED_OUT',
    (t, r) =>
      json(
        r,
        503,
        { requestId: idIn(t), state: 'error', error: { code: 'X', message: 'x' } },
        { 'retry-after': '31536000' },
      ),
  ],
]

test.each(lies)('%s ends as %s', async (_what, code, lie) => {
  verifies('opencall:132')
  const { api, server } = await clientOf(lie, { timeoutMs: 500, maxResponseBytes: 2_000, retries: 1 })

  const fault = await api.orders.get({}).catch((thrown: unknown) => thrown)

  expect(fault).toMatchObject({ name: 'CallFault', code, operation: 'v1:orders.get' })
  const sent = server.told.filter(({ method }) => method === 'POST').map(({ body }) => body?.ctx)
  expect(new Set(sent.map((ctx) => `${ctx?.requestId} ${ctx?.idempotencyKey}`)).size).toBe(1)
})

test('a poll that finds nothing is not repeated', async () => {
  verifies('opencall:132')
  const refusal = (t: Told) => ({ requestId: idIn(t), state: 'error', error: { code: 'NOT_FOUND', message: 'no' } })
  const { api, server } = await clientOf(first(pending, (t, r) => json(r, 404, refusal(t))))

  await expect(api.orders.get({})).rejects.toMatchObject({ code: 'NOT_FOUND', outcome: 'unknown' })

  expect(server.told.map(({ method }) => method)).toEqual(['POST', 'GET'])
})

test('unknown fields and states are no failure, and a 202 is read', async () => {
  verifies('opencall:062', 'opencall:123', 'opencall:124', 'opencall:149', 'opencall:223', 'opencall:224')
  const { api, server } = await clientOf((told, response) => {
    const { method, path } = told
    const poll = { uri: 'polls/1?x=1', extra: true }
    if (method === 'POST') return json(response, 202, pending(told, { location: poll, mood: 'fine' }))
    const id = server.told[0]?.body?.ctx?.requestId
    if (server.told.length === 2)
      return json(response, 202, { requestId: id, state: 'dreaming', retryAfterMs: 1, location: poll })
    json(response, path.startsWith('/polls/1?x=1') ? 200 : 404, {
      requestId: id,
      state: 'complete',
      result: { name: 'a', colour: 'red' },
    })
  })

  expect(await api.orders.get({})).toEqual({ name: 'a', colour: 'red' })
})

test('the token goes to the server and to trusted origins, and to no other', async () => {
  verifies('opencall:072', 'opencall:085')
  const other = await startLyingServer((_t, r) => json(r, 200, { name: 'there' }))
  const trusted = await startLyingServer((_t, r) => json(r, 200, { name: 'trusted' }))
  let place = other.url
  const { api, server } = await clientOf(
    (t, r) => json(r, 202, complete(t, { location: { uri: `${place}/result` } })),
    {
      trustedOrigins: [trusted.url],
    },
  )

  expect(await api.orders.get({})).toEqual({ name: 'there' })
  place = trusted.url
  expect(await api.orders.get({})).toEqual({ name: 'trusted' })

  expect(server.told[0]?.headers.authorization).toBe('Bearer secret')
  expect(other.told[0]?.headers.authorization).toBeUndefined()
  expect(trusted.told[0]?.headers.authorization).toBe('Bearer secret')
})

test.each([
  'http://127.0.0.1/',
  'http://10.1.2.3/',
  'http://[::1]/',
  'http://169.254.169.254/',
  'https://db.internal/',
  'http://0x7f.1/',
])('a public server cannot send the client to %s', async (uri) => {
  const seen: string[] = []
  const api = createClient<Operations>({
    url: 'https://api.example',
    async fetch(input, init) {
      seen.push(String(input))
      const { ctx } = JSON.parse(String(init?.body))
      return new Response(null, { status: 303, headers: { location: uri, 'x-id': ctx.requestId } })
    },
  })

  await expect(api.orders.get({})).rejects.toMatchObject({ code: 'UNSAFE_LOCATION' })
  expect(seen).toEqual(['https://api.example/call'])
})

interface Chunk {
  offset: number
  length: number
  checksum: string
  checksumPrevious: string | null
}
const chunksOf = (change: (chunk: Chunk, index: number) => object | undefined): Lie => {
  const texts = ['one', 'two']
  return (told, response) => {
    if (told.method === 'POST')
      return json(response, 202, complete(told, { location: { uri: '/ops/1/chunks', mimeType: 'text/plain' } }))
    const index = told.path.includes('cursor=') ? 1 : 0
    const data = texts[index] as string
    const chunk = {
      offset: index * 3,
      length: 3,
      checksum: sum(data),
      checksumPrevious: index === 0 ? null : sum('one'),
    }
    const answer = {
      requestId: '1',
      state: index === 1 ? 'complete' : 'pending',
      mimeType: 'text/plain',
      cursor: index === 1 ? null : 'next',
      chunk,
      encoding: 'utf8',
      data,
    }
    json(response, 200, { ...answer, ...change(chunk, index) })
  }
}

test('chunks that are right are joined', async () => {
  const { api } = await clientOf(chunksOf(() => undefined))

  expect(await api.orders.export({}).text()).toBe('onetwo')
})

test.each<[string, (chunk: Chunk, index: number) => object | undefined]>([
  ['a wrong checksum', (chunk, index) => (index === 1 ? { chunk: { ...chunk, checksum: sum('tow') } } : undefined)],
  ['other bytes', (_chunk, index) => (index === 1 ? { data: 'tow' } : undefined)],
  ['a gap', (chunk, index) => (index === 1 ? { chunk: { ...chunk, offset: 4 } } : undefined)],
  ['a wrong length', (chunk, index) => (index === 1 ? { chunk: { ...chunk, length: 2 } } : undefined)],
  [
    'a broken chain',
    (chunk, index) => (index === 1 ? { chunk: { ...chunk, checksumPrevious: sum('other') } } : undefined),
  ],
  ['the same cursor for ever', (_chunk, index) => (index === 1 ? { cursor: 'next' } : undefined)],
  ['fewer bytes than announced', (_chunk, index) => (index === 1 ? { total: 7 } : undefined)],
])('chunks with %s are refused', async (_what, change) => {
  verifies('opencall:163', 'opencall:171')
  const { api } = await clientOf(chunksOf(change))

  await expect(api.orders.export({}).text()).rejects.toMatchObject({ code: 'DAMAGED_RESULT' })
})

test('a poll and a repeated call wait as long as the server asks', async () => {
  verifies('opencall:154')
  const at: number[] = []
  const { api } = await clientOf((told, response, count) => {
    at.push(performance.now())
    if (count === 1)
      return json(response, 429, {
        requestId: idIn(told),
        state: 'error',
        error: { code: 'RATE_LIMITED', message: 'x' },
        retryAfterMs: 120,
      })
    if (count === 2) return json(response, 202, pending(told, { retryAfterMs: 150 }))
    json(response, 200, complete(told, { result: { name: 'late' } }))
  })

  expect(await api.orders.get({})).toEqual({ name: 'late' })

  // Timers may be a millisecond early.
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(118)
  expect((at[2] ?? 0) - (at[1] ?? 0)).toBeGreaterThan(148)
})

test('a token that is refused is asked for again, once', async () => {
  const { url, told } = await startLyingServer((one, response) => {
    const isNew = one.headers.authorization === 'Bearer new'
    if (isNew) return json(response, 200, complete(one, { result: { name: 'in' } }))
    json(response, 401, { requestId: idIn(one), state: 'error', error: { code: 'AUTH_REQUIRED', message: 'no' } })
  })
  const asked: (string | undefined)[] = []
  const api = createClient<Operations>({
    url,
    token: async (refused) => {
      asked.push(refused)
      return refused === undefined ? 'old' : 'new'
    },
  })

  expect(await api.orders.get({})).toEqual({ name: 'in' })
  expect(asked).toEqual([undefined, 'old'])
  expect(told).toHaveLength(2)
  const stubborn = createClient<Operations>({ url, token: () => 'old' })
  await expect(stubborn.orders.get({})).rejects.toMatchObject({
    code: 'AUTH_REQUIRED',
    outcome: 'refused',
    status: 401,
  })
})
