/** Servers that lie: each lie ends in a typed fault, and no credential goes where it does not belong. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../requirements.ts'
import { type Received, type Scripted, startScript } from './scripted-server.ts'
import type { Teller } from './tellers.ts'

const complete = (result: unknown, extra = {}): Scripted => ({
  body: { requestId: 'r', state: 'complete', result, ...extra },
})
const located = (uri: string, extra = {}): Scripted => ({
  status: 202,
  body: { requestId: 'r', state: 'complete', location: { uri, ...extra } },
})
const pending = (extra = {}): Scripted => ({
  status: 202,
  body: { requestId: 'r', state: 'pending', location: { uri: '/ops/r' }, retryAfterMs: 1, ...extra },
})

/** Responds to the call with the first, and to what follows with the others. The last one is repeated. */
const inTurn = (...answers: (Scripted | 'hang up')[]) => {
  let next = 0
  return () => answers[Math.min(next++, answers.length - 1)] as Scripted | 'hang up'
}

function chunkOf(data: string, chunk: object, cursor: string | null): Scripted {
  const checksum = `sha256:${createHash('sha256').update(data).digest('hex')}`
  const facts = { offset: 0, length: data.length, checksum, checksumPrevious: null, ...chunk }
  return { body: { requestId: 'r', state: 'pending', cursor, chunk: facts, encoding: 'utf8', data } }
}

const LIES: readonly [lie: string, script: () => (request: Received) => Scripted | 'hang up', fault: string][] = [
  ['HTML instead of JSON', () => inTurn({ body: '<html>' }), 'BAD_REPLY'],
  ['a list instead of an envelope', () => inTurn({ body: [] }), 'BAD_REPLY'],
  ['an envelope without a state', () => inTurn({ body: { requestId: 'r' } }), 'BAD_REPLY'],
  ['complete without a result', () => inTurn({ body: { requestId: 'r', state: 'complete' } }), 'BAD_REPLY'],
  ['a success with an error status', () => inTurn({ ...complete(1), status: 500 }), 'BAD_REPLY'],
  [
    'an unknown state without a place',
    () => inTurn(pending({ state: 'dreaming', location: undefined })),
    'UNKNOWN_STATE',
  ],
  ['a state that goes backwards', () => inTurn(pending(), pending({ state: 'accepted' })), 'BAD_REPLY'],
  [
    'a state that goes backwards after an unknown one',
    () => inTurn(pending(), pending({ state: 'dreaming' }), pending({ state: 'accepted' })),
    'BAD_REPLY',
  ],
  ['an error without a code', () => inTurn({ body: { requestId: 'r', state: 'error' } }), 'FAILED'],
  ['a location that is a script', () => inTurn(located('javascript:alert(1)')), 'LOCATION_REFUSED'],
  ['a location that is a file', () => inTurn(located('file:///etc/passwd')), 'LOCATION_REFUSED'],
  ['a location with a user', () => inTurn(located('http://user:pass@127.0.0.1/')), 'LOCATION_REFUSED'],
  [
    'a redirect to the metadata of a cloud',
    () => inTurn(located('/moved'), { status: 303, headers: { Location: 'http://169.254.169.254/latest' } }),
    'LOCATION_REFUSED',
  ],
  [
    'redirects without an end',
    () => inTurn(located('/moved'), { status: 303, headers: { Location: '/moved' } }),
    'TOO_MANY_REDIRECTS',
  ],
  ['a result that is not there', () => inTurn(located('/gone'), { status: 404 }), 'RESULT_UNAVAILABLE'],
]

const BAD_CHUNKS: readonly [lie: string, requirement: string, chunks: readonly Scripted[]][] = [
  ['a wrong checksum', 'opencall:163', [chunkOf('abc', { checksum: `sha256:${'0'.repeat(64)}` }, null)]],
  ['a wrong length', 'opencall:163', [chunkOf('abc', { length: 4 }, null)]],
  ['a first chunk in the middle', 'opencall:171', [chunkOf('abc', { offset: 3 }, null)]],
  ['a chain that is broken', 'opencall:171', [chunkOf('abc', {}, 'c1'), chunkOf('def', { offset: 3 }, null)]],
  ['a cursor that stays', 'opencall:171', [chunkOf('abc', {}, 'c1'), chunkOf('abc', { checksumPrevious: null }, 'c1')]],
]

const streaming = (stream: object): Scripted => ({
  status: 202,
  body: { requestId: 'r', state: 'streaming', stream: { transport: 'sse', location: '/streams/1', ...stream } },
})
const events = (text: string): Scripted => ({ headers: { 'Content-Type': 'text/event-stream' }, body: text })
const END = 'event: end\ndata: {"state":"complete"}\n\n'

const BAD_STREAMS: readonly [lie: string, answers: readonly Scripted[], fault: string][] = [
  ['no stream in the reply', [complete(1)], 'BAD_REPLY'],
  ['a transport of their own', [streaming({ transport: 'pigeon' })], 'UNSUPPORTED_TRANSPORT'],
  ['a location that is a script', [streaming({ location: 'javascript:alert(1)' })], 'LOCATION_REFUSED'],
  ['a frame that is not JSON', [streaming({}), events('event: frame\ndata: {\n\n')], 'BAD_REPLY'],
  ['HTML instead of events', [streaming({}), { body: '<html>' }, streaming({})], 'STREAM_BROKEN'],
  [
    'a failure at the end',
    [streaming({}), events('event: end\ndata: {"state":"error","error":{"code":"OUT"}}\n\n')],
    'OUT',
  ],
]

export function describeLies(name: string, teller: () => Teller): void {
  describe(`${name}: servers that lie`, () => {
    test.each(LIES)('%s', async (_lie, script, fault) => {
      const { url } = await startScript(script())

      const told = await teller().tell(url, [{ do: 'call', op: 'v1:x', timeoutMs: 20_000 }])

      expect(told).toEqual([expect.objectContaining({ fault })])
    })

    test.each(BAD_CHUNKS)('chunks with %s', async (_lie, requirement, chunks) => {
      verifies(requirement)
      const { url } = await startScript(inTurn(located('/ops/r/chunks'), ...chunks))

      const told = await teller().tell(url, [{ do: 'start', op: 'v1:x', next: 'content' }])

      expect(told).toEqual([expect.objectContaining({ fault: 'DAMAGED_RESULT' })])
    })

    test.each(BAD_STREAMS)('streams with %s', async (_lie, answers, fault) => {
      const { url } = await startScript(inTurn(...answers))

      const told = await teller().tell(url, [{ do: 'stream', op: 'v1:x' }], { retries: 1 })

      expect(told).toEqual([expect.objectContaining({ fault })])
    })

    test('unknown events and frames are skipped, with every kind of line end', async () => {
      verifies('opencall:223')
      const text = `: hello\r\n\r\nevent: news\ndata: 0\n\nevent: frame\rdata: {"a":\rdata: 1}\r\rretry: 1\nevent:frame\ndata:2\n\n${END}`
      const { url } = await startScript(inTurn(streaming({ expiresAt: 1 }), events(text)))

      const told = await teller().tell(url, [{ do: 'stream', op: 'v1:x' }])

      expect(told).toEqual([{ frames: [{ a: 1 }, 2] }])
    })

    test.each([
      ['it', 'opencall:070', (expiresAt: number) => ({ expiresAt })],
      [
        'its credential',
        'opencall:077',
        (expiresAt: number) => ({
          expiresAt: expiresAt + 7200,
          auth: { credentialType: 'bearer', credential: 'short', expiresAt },
        }),
      ],
    ] as const)(
      'a stream is subscribed to again before %s expires, and the old one is left',
      async (_what, requirement, ending) => {
        verifies(requirement)
        let subscriptions = 0
        const { url, received } = await startScript(({ path, body }) => {
          if (path !== '/call') {
            const frame = `event: frame\ndata: "${path}"\n\n`
            return path === '/streams/1' ? { ...events(frame), open: true } : events(frame + END)
          }
          if (body.op !== 'v1:x') return complete(null)
          subscriptions++
          const expiresAt = Math.ceil(Date.now() / 1000) + (subscriptions === 1 ? 1 : 3600)
          return streaming({ location: `/streams/${subscriptions}`, ...ending(expiresAt) })
        })

        const told = await teller().tell(url, [{ do: 'stream', op: 'v1:x' }])

        expect(told).toEqual([{ frames: ['/streams/1', '/streams/2'] }])
        const [first, second, ...left] = received.filter(({ path }) => path === '/call').map(({ body }) => body)
        expect(second?.ctx?.requestId).not.toBe(first?.ctx?.requestId)
        expect(second?.ctx?.idempotencyKey).not.toBe(first?.ctx?.idempotencyKey)
        expect(left).toEqual([{ op: 'v1:unsubscribeFromStream', args: { requestId: first?.ctx?.requestId } }])
      },
    )

    test('a stream gets the credential of its own, else that of the caller, and that only at the server', async () => {
      verifies('opencall:072', 'opencall:100')
      const other = await startScript(() => events(END))
      const auth = { credentialType: 'bearer', credential: 'for-this-stream' }
      const api = await startScript(({ path, body }) => {
        const { location, auth: own } = { ...body.args }
        return path === '/call' ? streaming({ location, auth: own }) : events(END)
      })
      const wishes = [{ location: '/streams/1' }, { location: '/streams/2', auth }, { location: `${other.url}/3` }].map(
        (args) => ({ do: 'stream' as const, op: 'v1:x', args }),
      )

      const told = await teller().tell(api.url, wishes, { token: 'secret' })

      expect(told).toEqual([{ frames: [] }, { frames: [] }, { frames: [] }])
      const shown = (requests: readonly Received[]) =>
        requests.filter(({ path }) => path !== '/call').map(({ path, headers }) => [path, headers.authorization])
      expect(shown(api.received)).toEqual([
        ['/streams/1', 'Bearer secret'],
        ['/streams/2', 'Bearer for-this-stream'],
      ])
      expect(shown(other.received)).toEqual([['/3', undefined]])
    })

    test('a command to the session of a stream is a call of its own', async () => {
      verifies('opencall:198')
      const { url, received } = await startScript(({ path, body }) => {
        if (path !== '/call') return events(`event: frame\ndata: 1\n\n${END}`)
        return body.op === 'v1:watch' ? streaming({}) : complete(null)
      })

      const told = await teller().tell(url, [{ do: 'stream', op: 'v1:watch', sessionId: 'desk-7', command: 'v1:stop' }])

      expect(told).toEqual([{ frames: [1] }])
      const calls = received.filter(({ path }) => path === '/call').map(({ body }) => [body.op, body.ctx?.sessionId])
      expect(calls).toEqual([
        ['v1:watch', 'desk-7'],
        ['v1:stop', 'desk-7'],
      ])
    })

    test('a state that it does not know is followed to one that it knows', async () => {
      verifies('opencall:123', 'opencall:124', 'opencall:149', 'opencall:224')
      const { url, received } = await startScript(
        inTurn(
          pending({ state: 'dreaming', location: { uri: 'polls/1?x=1' } }),
          pending({ state: 'waking', location: { uri: 'polls/2' } }),
          complete('awake'),
        ),
      )

      const told = await teller().tell(url, [{ do: 'call', op: 'v1:x' }])

      expect(told).toEqual([{ result: 'awake' }])
      expect(received.map(({ path }) => path)).toEqual(['/call', '/polls/1?x=1', '/polls/2'])
    })

    test('fields, hints and times that make no sense do no harm', async () => {
      verifies('opencall:062', 'opencall:123', 'opencall:124', 'opencall:223', 'opencall:224')
      const past = { expiresAt: 1, retryAfterMs: -5, progress: { fraction: 7 }, unheardOf: { deep: [1] } }
      const { url } = await startScript(inTurn(pending(past), pending(past), complete({ color: 'ultraviolet' }, past)))

      const told = await teller().tell(url, [{ do: 'call', op: 'v1:x' }])

      expect(told).toEqual([{ result: { color: 'ultraviolet' } }])
    })

    test('polls not more often than it is asked to, and never again after 404', async () => {
      verifies('opencall:132', 'opencall:154')
      const missing = {
        status: 404,
        body: { requestId: 'r', state: 'error', error: { code: 'NOT_FOUND', message: 'No.' } },
      }
      const { url, received } = await startScript(inTurn(pending({ retryAfterMs: 300 }), missing))

      const told = await teller().tell(url, [{ do: 'call', op: 'v1:x' }])

      expect(told).toEqual([expect.objectContaining({ fault: 'NOT_FOUND', status: 404 })])
      expect(received).toHaveLength(2)
      expect((received[1]?.atMs ?? 0) - (received[0]?.atMs ?? 0)).toBeGreaterThan(290)
    })

    test('waits as long as a refusal says, and repeats the same call', async () => {
      const error = { code: 'RATE_LIMITED', message: 'Too many calls.' }
      const busy = { status: 429, headers: { 'Retry-After': '1' }, body: { requestId: 'r', state: 'error', error } }
      const { url, received } = await startScript(inTurn(busy, complete(1)))

      const told = await teller().tell(url, [{ do: 'call', op: 'v1:x' }])

      expect(told).toEqual([{ result: 1 }])
      expect((received[1]?.atMs ?? 0) - (received[0]?.atMs ?? 0)).toBeGreaterThan(990)
      expect(received[1]?.body).toEqual(received[0]?.body)
      expect(received[0]?.body.ctx).toEqual({ requestId: expect.any(String), idempotencyKey: expect.any(String) })
    })

    test('the credential goes to the server and to trusted origins only', async () => {
      verifies('opencall:062', 'opencall:085', 'opencall:149')
      const files = await startScript(() => ({ body: { from: 'files' } }))
      const api = await startScript((request) => {
        const { at, extra } = { at: '', ...request.body.args } as { at: string; extra?: object }
        if (request.path === '/call') return located(at, extra)
        return request.path === '/moved'
          ? { status: 303, headers: { Location: `${files.url}/moved` } }
          : { body: { from: 'api' } }
      })
      const auth = { credentialType: 'bearer', credential: 'for-this-file' }
      const wishes = [
        { at: 'results/1' },
        { at: `${files.url}/plain` },
        { at: `${files.url}/own`, extra: { auth } },
        { at: '/moved', extra: { auth } },
      ].map((args) => ({ do: 'call' as const, op: 'v1:x', args }))

      const told = await teller().tell(api.url, wishes, { token: 'secret' })
      await teller().tell(api.url, wishes.slice(1, 2), { token: 'secret', trusted: [files.url] })

      expect(told).toEqual(['api', 'files', 'files', 'files'].map((from) => ({ result: { from } })))
      const shown = (requests: readonly Received[]) =>
        requests.map(({ path, headers }) => [path, headers.authorization])
      expect(shown(api.received).filter(([path]) => path !== '/call')).toEqual([
        ['/results/1', 'Bearer secret'],
        ['/moved', 'Bearer for-this-file'],
      ])
      expect(shown(files.received)).toEqual([
        ['/plain', undefined],
        ['/own', 'Bearer for-this-file'],
        ['/moved', undefined],
        ['/plain', 'Bearer secret'],
      ])
    })

    test('a token that was refused is asked for again, once', async () => {
      const refused = {
        status: 401,
        body: { requestId: 'r', state: 'error', error: { code: 'AUTH_REQUIRED', message: 'No.' } },
      }
      const { url } = await startScript(({ headers }) =>
        headers.authorization === 'Bearer new' ? complete(1) : refused,
      )

      const fresh = await teller().tell(url, [{ do: 'call', op: 'v1:x' }], { token: ['old', 'new'] })
      const stale = await teller().tell(url, [{ do: 'call', op: 'v1:x' }], { token: ['old', 'older'] })

      expect(fresh).toEqual([{ result: 1 }])
      expect(stale).toEqual([expect.objectContaining({ fault: 'AUTH_REQUIRED', status: 401 })])
    })

    test('the registry is fetched once, and then only asked whether it changed', async () => {
      verifies('opencall:280')
      const { url, received } = await startScript(({ headers }) =>
        headers['if-none-match'] === '"1"'
          ? { status: 304 }
          : { headers: { ETag: '"1"' }, body: { operations: [1, 2] } },
      )

      const told = await teller().tell(url, [{ do: 'registry' }])

      expect(told).toEqual([{ operations: [2, 2] }])
      expect(received.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"'])
    })
  })
}
