/** Streams over HTTP: `POST /call` subscribes, and curl reads the frames as server-sent events. */
import { createToken, jsonSchema, operation, type PolicyDefinition, type ServerOptions } from 'callplane'
import { describe, expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { onlyOne, openDesk } from '../scenarios/approving.ts'
import { ask } from '../scenarios/mcp.ts'
import { oxpClient } from '../scenarios/oxp.ts'
import { createGate, type Site, startSite } from '../scenarios/server.ts'
import { startPair } from '../workers/pair.ts'
import { readEvents, readWithTicket, streamIn } from './sse.ts'

const COUNT = jsonSchema<{ count: number }>({ type: 'object', properties: { count: { type: 'integer' } } })
const N = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })

const ticks = operation('v1:clock.ticks', {
  description: 'Counts.',
  args: COUNT,
  frame: N,
  ttlSeconds: 120,
  async *run({ count }) {
    for (let n = 1; n <= count; n++) yield { n }
  },
})

const numbered = operation('v1:clock.numbered', {
  args: COUNT,
  frame: N,
  stream: { integrity: 'crc32' },
  async *run({ count }, { signal }) {
    for (let n = 1; n <= count; n++) yield { n }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})

const quiet = operation('v1:clock.quiet', {
  frame: N,
  async *run(_args, { signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})

const [ADA, BOB] = [person('ada'), person('bob')]

function person(subject: string) {
  const { token, hash } = createToken()
  const headers = { Authorization: `Bearer ${token}` }
  return { headers, sending: { headers }, entry: { hash, kind: 'bearer' as const, subject, scopes: [] } }
}

function startForTwo(options: Partial<ServerOptions> = {}): Promise<Site> {
  const auth = { tokens: [ADA.entry, BOB.entry] }
  return startSite({ operations: [ticks, numbered, quiet], auth, ...options })
}

describe('subscribing and reading', () => {
  test('202 with the stream; the frames are raw; its life is at /ops/{id}', async () => {
    verifies('opencall:054', 'opencall:059', 'opencall:064', 'opencall:065', 'opencall:066', 'opencall:067')
    verifies('opencall:068', 'opencall:069', 'opencall:099', 'opencall:101', 'opencall:195', 'opencall:196')
    verifies('opencall:208', 'opencall:296', 'opencall:300')
    const site = await startForTwo()
    const before = Math.floor(Date.now() / 1000)
    const answered = await site.call('v1:clock.ticks', { count: 3 }, { requestId: 'r1', sessionId: 's1' }, ADA.sending)
    const { url, ticket, auth, ...stream } = streamIn(answered)

    expect(answered.headers.get('location')).toBeNull()
    expect(answered.body).not.toHaveProperty('result')
    expect(stream).toMatchObject({
      transport: 'wss',
      encoding: 'json',
      schema: 'v1:clock.ticks#frame',
      sessionId: 's1',
      location: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+\/streams\/[\w-]+$/),
    })
    expect(stream.expiresAt).toBeGreaterThanOrEqual(before + 120)
    expect(auth).toMatchObject({ credentialType: 'otk', credential: ticket, expiresAt: expect.any(Number) })
    expect((await site.poll('r1', ADA.headers)).body).toMatchObject({ state: 'streaming', stream })
    expect((await site.poll('r1', BOB.headers)).status).toBe(404)

    const events = await (await readEvents(`${url}?ticket=${ticket}`)).rest()

    expect(events).toEqual([
      { event: 'frame', data: { n: 1 } },
      { event: 'frame', data: { n: 2 } },
      { event: 'frame', data: { n: 3 } },
      { event: 'end', data: { state: 'complete' } },
    ])
    const ended = (await site.poll('r1', ADA.headers)).body
    expect(ended).toMatchObject({ state: 'complete', result: { frames: 3, dropped: 0, ended: 'done' } })
    expect(ended).not.toHaveProperty('stream')
  })

  test('a ticket is used once; the header form works as well; wrong ones are 401', async () => {
    verifies('opencall:075')
    const site = await startForTwo()
    const subscribe = () => site.call('v1:clock.quiet', {}, undefined, ADA.sending)
    const { url, ticket } = streamIn(await subscribe())
    const other = streamIn(await subscribe())

    const first = await readEvents(url, { Authorization: `OTK ${ticket}` })
    const again = await readEvents(`${url}?ticket=${ticket}`)
    const foreign = await readEvents(`${url}?ticket=${other.ticket}`)

    expect([first.status, again.status, foreign.status]).toEqual([200, 401, 401])
    first.leave()
  })

  test('the caller reads with its own credential; another caller gets 404, none 401, another type 400', async () => {
    verifies('opencall:073')
    const site = await startForTwo()
    const { url } = streamIn(await site.call('v1:clock.ticks', { count: 1 }, undefined, ADA.sending))

    expect((await readEvents(url, BOB.headers)).status).toBe(404)
    expect((await readEvents(url)).status).toBe(401)
    expect((await fetch(url, { headers: ADA.headers })).status).toBe(400)
    expect(await (await readEvents(url, ADA.headers)).rest()).toHaveLength(2)
  })

  test('a reader resumes after the last number that it has', async () => {
    verifies('opencall:200', 'opencall:201', 'opencall:215')
    const site = await startForTwo()
    const { url, ticket } = streamIn(await site.call('v1:clock.numbered', { count: 5 }, undefined, ADA.sending))
    const first = await readEvents(`${url}?ticket=${ticket}`)
    expect(await first.next()).toEqual({ event: 'frame', id: 1, data: { n: 1 } })
    first.leave()

    const second = await readEvents(`${url}?after=1`, ADA.headers)
    const numbers = [await second.next(), await second.next(), await second.next(), await second.next()]
    const third = await readEvents(url, { ...ADA.headers, 'Last-Event-ID': '4' })

    expect(numbers.map((event) => event?.id)).toEqual([2, 3, 4, 5])
    expect(await second.next()).toMatchObject({ event: 'end', data: { error: { code: 'READER_REPLACED' } } })
    expect(await third.next()).toMatchObject({ id: 5 })
    third.leave()
  })

  test('"after" needs numbers, and must be one', async () => {
    const site = await startForTwo()
    const { url } = streamIn(await site.call('v1:clock.quiet', {}, undefined, ADA.sending))

    expect((await readEvents(`${url}?after=1`, ADA.headers)).status).toBe(400)
    expect((await readEvents(`${url}?after=-1`, ADA.headers)).status).toBe(400)
    expect((await readEvents(`${url}?after=x`, ADA.headers)).status).toBe(400)
  })

  test('closing the server ends the reader at once, with the reason', async () => {
    verifies('opencall:205')
    const site = await startForTwo()
    const reader = await readWithTicket(await site.call('v1:clock.quiet', {}, { requestId: 'r1' }, ADA.sending))

    const [events] = await Promise.all([reader.rest(), site.close(5_000)])

    expect(events).toMatchObject([
      { event: 'end', data: { state: 'error', error: { code: 'PANIC_STREAM_INTERRUPTED' } } },
    ])
  })

  test('a handler that never waits leaves the server responsive behind a fast reader', async () => {
    const flood = operation('v1:clock.flood', {
      frame: N,
      async *run() {
        for (let n = 1; ; n++) yield { n }
      },
    })
    const site = await startForTwo({ operations: [flood] })
    const reader = await readWithTicket(await site.call('v1:clock.flood', {}, { requestId: 'r1' }, ADA.sending))
    for (let n = 1; n <= 5_000; n++) expect(await reader.next()).toMatchObject({ data: { n } })

    expect((await site.poll('r1', ADA.headers)).body.state).toBe('streaming')
    reader.leave()
  })
})

describe('unsubscribing', () => {
  test('by request id: the stream is complete, its reader told, and only its owner can', async () => {
    verifies('opencall:204')
    const site = await startForTwo()
    const reader = await readWithTicket(await site.call('v1:clock.quiet', {}, { requestId: 'r1' }, ADA.sending))
    const end = (who: typeof ADA) => site.call('v1:unsubscribeFromStream', { requestId: 'r1' }, undefined, who.sending)

    expect((await end(BOB)).body.state).toBe('error')
    expect((await site.poll('r1', ADA.headers)).body.state).toBe('streaming')
    expect((await end(ADA)).body).toMatchObject({ state: 'complete', result: { ended: ['r1'] } })

    expect(await reader.rest()).toEqual([{ event: 'end', data: { state: 'complete' } }])
    expect((await site.poll('r1', ADA.headers)).body).toMatchObject({ result: { ended: 'unsubscribed' } })
  })

  test('by session: all streams of that session and that caller, read or not', async () => {
    verifies('opencall:199', 'opencall:204', 'opencall:210')
    const site = await startForTwo()
    const subscribe = (requestId: string, sessionId: string, who: typeof ADA) =>
      site.call('v1:clock.quiet', {}, { requestId, sessionId }, who.sending)
    const reader = await readWithTicket(await subscribe('a', 'mission', ADA))
    await subscribe('b', 'mission', ADA)
    await subscribe('c', 'other', ADA)
    await subscribe('a', 'mission', BOB)

    const { body } = await site.call('v1:unsubscribeFromStream', { sessionId: 'mission' }, undefined, ADA.sending)

    expect((body.result as { ended: string[] }).ended.sort()).toEqual(['a', 'b'])
    expect(await reader.rest()).toHaveLength(1)
    expect((await site.poll('c', ADA.headers)).body.state).toBe('streaming')
    expect((await site.poll('a', BOB.headers)).body.state).toBe('streaming')
  })

  test('a stream goes one way: commands are calls of their own in the same session', async () => {
    verifies('opencall:197')
    const site = await startForTwo()
    const answered = await site.call('v1:clock.quiet', {}, { requestId: 'r1', sessionId: 'mission' }, ADA.sending)
    const reader = await readWithTicket(answered)

    const sent = await fetch(streamIn(answered).url, { method: 'POST', body: '{}', ...ADA.sending })
    const command = await site.call(
      'v1:unsubscribeFromStream',
      { requestId: 'r1' },
      { requestId: 'c1', sessionId: 'mission' },
      ADA.sending,
    )

    expect(sent.status).toBe(405)
    expect(command.body).toMatchObject({ requestId: 'c1', sessionId: 'mission', state: 'complete' })
    expect(await reader.rest()).toHaveLength(1)
  })

  test('by the session that the server made for a stream', async () => {
    const site = await startForTwo()
    const { sessionId } = streamIn(await site.call('v1:clock.quiet', {}, { requestId: 'r1' }, ADA.sending))

    const { body } = await site.call('v1:unsubscribeFromStream', { sessionId }, undefined, ADA.sending)

    expect(body.result).toEqual({ ended: ['r1'] })
  })

  test('needs one of both ids, and a stream', async () => {
    const hello = operation('v1:greeter.hello', { ttlSeconds: 60, run: () => 'hello' })
    const site = await startForTwo({ operations: [hello, ticks] })
    await site.call('v1:greeter.hello', {}, { requestId: 'r1' }, ADA.sending)
    const end = async (args: object) =>
      (await site.call('v1:unsubscribeFromStream', args, undefined, ADA.sending)).body.error?.code

    expect(await end({})).toBe('VALIDATION_ERROR')
    expect(await end({ requestId: 'r1', sessionId: 's' })).toBe('VALIDATION_ERROR')
    expect(await end({ requestId: 'r1' })).toBe('NOT_A_STREAM')
  })
})

describe('the registry', () => {
  const listed = async (site: Site) => {
    const { operations } = (await (await site.request('/.well-known/ops')).json()) as { operations: { op: string }[] }
    return new Map(operations.map((entry) => [entry.op, entry]))
  }

  test('says which operations are streams, and how they can be read', async () => {
    verifies('opencall:203', 'opencall:211', 'opencall:250', 'opencall:259', 'opencall:260', 'opencall:261')
    const entries = await listed(await startForTwo())

    expect(entries.get('v1:clock.numbered')).toMatchObject({
      executionModel: 'stream',
      frameSchema: { type: 'object', required: ['n'] },
      supportedTransports: expect.arrayContaining(['wss']),
      supportedEncodings: ['json'],
      frameIntegrity: true,
    })
    expect(entries.get('v1:clock.ticks')).toMatchObject({ frameIntegrity: false, ttlSeconds: 120 })
    expect(entries.has('v1:unsubscribeFromStream')).toBe(true)
  })

  test('has unsubscribeFromStream only if there are streams', async () => {
    const entries = await listed(await startSite({ operations: [operation('v1:a.b', { run: () => 1 })] }))

    expect([...entries.keys()]).toEqual(['v1:a.b'])
    expect(entries.get('v1:a.b')).not.toHaveProperty('frameSchema')
  })
})

describe('negotiation', () => {
  const several = operation('v1:clock.several', {
    frame: N,
    stream: { encodings: ['cbor', 'json'] },
    *run() {
      yield { n: 1 }
    },
  })

  test('the first wish that the operation and the server have; the operation decides without a wish', async () => {
    verifies('opencall:269', 'opencall:270')
    const site = await startForTwo({ operations: [several] })
    const subscribe = async (args: object) =>
      streamIn(await site.call('v1:clock.several', args, undefined, ADA.sending)).encoding

    expect(await subscribe({})).toBe('cbor')
    expect(await subscribe({ encoding: 'json' })).toBe('json')
    expect(await subscribe({ encoding: ['protobuf', 'json', 'cbor'], transport: ['carrier-pigeon', 'wss'] })).toBe(
      'json',
    )
  })

  test.each([
    [{ transport: 'carrier-pigeon' }, 'UNSUPPORTED_TRANSPORT'],
    [{ encoding: ['xml'] }, 'UNSUPPORTED_ENCODING'],
    [{ encoding: [] }, 'VALIDATION_ERROR'],
    [{ encoding: 7 }, 'VALIDATION_ERROR'],
  ])('%j is refused, and nothing is subscribed', async (args, code) => {
    const site = await startForTwo({ operations: [several] })

    const { status, body } = await site.call('v1:clock.several', args, { requestId: 'r1' }, ADA.sending)

    expect([status, body.error?.code]).toEqual([400, code])
    expect((await site.poll('r1', ADA.headers)).status).toBe(404)
  })

  test('a stream of video is refused where no transport has media tracks', async () => {
    const camera = operation('v1:camera.watch', {
      frame: jsonSchema<object>({ type: 'object' }),
      stream: { encodings: ['binary'], track: { kind: 'video', codec: 'VP8' } },
      *run() {},
    })
    const site = await startForTwo({ operations: [camera] })

    const { status, body } = await site.call('v1:camera.watch', {}, { requestId: 'r1' }, ADA.sending)

    expect([status, body.error?.code]).toEqual([400, 'UNSUPPORTED_TRANSPORT'])
  })

  test('an argument that the schema declares is the operation own, and never a wish', async () => {
    const own = operation('v1:freight.watch', {
      args: jsonSchema<{ transport: string }>({ type: 'object', properties: { transport: { type: 'string' } } }),
      frame: jsonSchema<string>({ type: 'string' }),
      *run({ transport }) {
        yield transport
      },
    })
    const site = await startForTwo({ operations: [own] })

    const reader = await readWithTicket(
      await site.call('v1:freight.watch', { transport: 'train' }, undefined, ADA.sending),
    )

    expect(await reader.next()).toEqual({ event: 'frame', data: 'train' })
  })
})

describe('the rules of every call hold for streams', () => {
  test('scopes, and an operation that is not public', async () => {
    const guarded = operation('v1:clock.guarded', { frame: N, scopes: ['clock:read'], run: () => [{ n: 1 }] })
    const site = await startForTwo({ operations: [guarded] })

    expect((await site.call('v1:clock.guarded')).status).toBe(401)
    expect((await site.call('v1:clock.guarded', {}, undefined, ADA.sending)).status).toBe(403)
  })

  test('a stream that needs an approval is refused; once approved, one call of the same subscribes', async () => {
    const policy: PolicyDefinition = {
      default: 'allow',
      rules: [{ id: 'cameras', effect: 'approve', what: { operation: 'v1:camera.watch' } }],
    }
    const camera = operation('v1:camera.watch', { frame: N, run: () => [{ n: 1 }] })
    const desk = await openDesk({ policy, operations: [camera] })
    const subscribe = (requestId: string) => desk.as('agent', 'v1:camera.watch', {}, { requestId })

    const refused = await subscribe('r1')
    await desk.decide((await onlyOne(desk)).id)
    const [one, two] = await Promise.all([subscribe('r2'), subscribe('r3')])

    expect(refused.body).toMatchObject({ state: 'error', error: { code: expect.stringMatching(/APPROVAL/) } })
    const granted = [one, two].filter(({ body }) => body.state === 'streaming')
    expect(granted).toHaveLength(1)
    expect([one, two].find(({ body }) => body.state === 'error')?.body.error?.code).toMatch(/APPROVAL/)
    expect(await (await readWithTicket(granted[0] as typeof one)).rest()).toHaveLength(2)
  })

  test('a refused stream and an ended one are in the audit trail', async () => {
    const policy: PolicyDefinition = {
      default: 'allow',
      rules: [{ id: 'closed', effect: 'deny', what: { operation: 'v1:clock.quiet' } }],
    }
    const desk = await openDesk({ policy, operations: [ticks, quiet] })
    await desk.as('agent', 'v1:clock.quiet', {}, { requestId: 'no' })
    await (await readWithTicket(await desk.as('agent', 'v1:clock.ticks', { count: 2 }, { requestId: 'yes' }))).rest()

    const { body } = await desk.as('root', 'v1:callplane.audit.list', { owner: 'callplane|agent' })

    expect((body.result as { entries: unknown[] }).entries).toMatchObject([
      { requestId: 'yes', operation: 'v1:clock.ticks@1.0.0', outcome: 'complete' },
      { requestId: 'no', operation: 'v1:clock.quiet@1.0.0' },
    ])
  })

  test('the trace of the call reaches the handler', async () => {
    verifies('opencall:209')
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const traced = operation('v1:clock.traced', {
      frame: jsonSchema<{ trace: string }>({ type: 'object' }),
      *run(_args, ctx) {
        yield { trace: ctx.traceparent ?? '' }
      },
    })
    const site = await startForTwo({ operations: [traced] })
    const answered = await site.call('v1:clock.traced', {}, { traceparent } as object, ADA.sending)

    const event = await (await readWithTicket(answered)).next()

    expect(event?.data).toEqual({ trace: expect.stringContaining('0af7651916cd43dd8448eb211c80319c') })
  })

  test('the other protocols neither list a stream nor run it, nor can a handler call it', async () => {
    const media = [{ name: 'file', required: true, acceptedTypes: ['*/*'], maxBytes: 9 }] as const
    const upload = operation('v1:clock.upload', { media, frame: N, run: () => [{ n: 1 }] })
    const parent = operation('v1:clock.parent', { run: (_args, ctx) => ctx.call('v1:clock.ticks', { count: 1 }) })
    const site = await startSite({ operations: [ticks, parent, upload] })
    const oxp = oxpClient(site.url)
    const mcp = await ask(site, 'tools/list')

    const listed = await (await site.request('/tools')).text()
    const called = await oxp.call('clock.ticks', { count: 1 })
    const child = await site.call('v1:clock.parent')

    expect(listed).toContain('clock.parent')
    expect(listed).not.toContain('clock.ticks')
    expect(JSON.stringify(mcp)).toContain('clock_parent')
    expect(JSON.stringify(mcp)).not.toMatch(/clock_(ticks|upload)/)
    expect(called.status).toBe(400)
    expect(child.body).toMatchObject({ state: 'error', error: { code: 'STREAM_NOT_SUPPORTED' } })
  })

  test('a public stream needs no credential', async () => {
    const open = operation('v1:clock.open', { frame: N, public: true, run: () => [{ n: 1 }] })
    const site = await startForTwo({ operations: [open] })

    expect(await (await readWithTicket(await site.call('v1:clock.open'))).rest()).toHaveLength(2)
  })
})

test('two workers: the ticket works at the other one, either can be read, and either can unsubscribe', async () => {
  const work = { leaseMs: 600_000, claimEveryMs: 600_000 }
  const gate = createGate()
  const watched = operation('v1:clock.watched', {
    frame: N,
    async *run(_args, { signal }) {
      yield { n: 1 }
      signal.addEventListener('abort', () => gate.open(undefined))
      await gate.pass()
    },
  })
  const [here, there] = await startPair({ operations: [watched], work })
  const { url, ticket } = streamIn(await here.call('v1:clock.watched', {}, { requestId: 'r1' }))
  const elsewhere = url.replace(here.url, there.url)

  const reader = await readEvents(`${elsewhere}?ticket=${ticket}`)
  expect(await reader.next()).toMatchObject({ data: { n: 1 } })
  const second = await readEvents(url)
  const ended = await here.call('v1:unsubscribeFromStream', { requestId: 'r1' })

  expect(ended.body).toMatchObject({ result: { ended: ['r1'] } })
  expect(await reader.rest()).toMatchObject([{ event: 'end', data: { error: { code: 'READER_REPLACED' } } }])
  expect(await second.rest()).toEqual([{ event: 'end', data: { state: 'complete' } }])
})
