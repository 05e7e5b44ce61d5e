/** A whole server over QUIC, with aioquic as the client: calls, streams and their ends, over HTTP/3 and raw streams. */
import { once } from 'node:events'
import { request } from 'node:https'
import { jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { Fault } from '../../../src/core/fault.ts'
import { RECORDS_TYPE } from '../../../src/wire/frames/records.ts'
import { describeWith, pythonClients, quicLibrary, together } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { certificate } from './client.ts'
import type { ReadRecord } from './records.ts'
import { calling, envelopeIn, http3Requests, protection, rawStreams, recordsIn, startQuicSite, textOf } from './site.ts'

vi.setConfig({ testTimeout: 60_000 })

const any = jsonSchema({ type: 'object' })
const add = operation('v1:math.add', {
  args: jsonSchema<{ a: number; b: number }>({ type: 'object' }),
  result: jsonSchema({ type: 'number' }),
  run: async ({ a, b }) => a + b,
})
const report = operation('v1:reports.make', {
  args: any,
  result: any,
  model: 'async',
  run: async () => ({ rows: 3 }),
})
const tick = operation('v1:clock.tick', {
  args: jsonSchema<{ count: number; fails?: boolean }>({ type: 'object' }),
  frame: jsonSchema<{ n: number }>({ type: 'object' }),
  async *run({ count, fails }) {
    for (let n = 1; n <= count; n++) yield { n }
    if (fails) throw new Fault('unavailable', 'The clock has stopped.', { code: 'CLOCK_STOPPED' })
  },
})
const operations = [add, report, tick]

interface StreamBlock {
  transport: string
  location: string
  accept: string
  auth: { credential: string; credentialType: string }
}

const reading = ({ location, accept, auth }: StreamBlock) => ({
  path: new URL(location).pathname,
  headers: { accept, authorization: `otk ${auth.credential}` },
})

const firstOf = (records: readonly ReadRecord[]) => records.slice(0, 1).map(textOf).join()
const lastOf = (records: readonly ReadRecord[] = []) => records.slice(-1).map(textOf).join()

/** What the HTTPS port says about itself. */
async function ready(url: string): Promise<{ altSvc: string | undefined; body: unknown }> {
  const [response] = await once(request(`${url}/ready`, { ca: certificate().cert }).end(), 'response')
  const [body] = await once(response.setEncoding('utf8'), 'data')
  return { altSvc: response.headers['alt-svc'], body: JSON.parse(body) }
}

describeWith(together(quicLibrary, pythonClients), 'a server over QUIC', () => {
  test('requests over HTTP/3 are in the request log, without their query', async ({ signal }) => {
    const { port, lines } = await startQuicSite({ operations, requestLog: true })

    await http3Requests(
      port,
      [calling('v1:math.add', { a: 1, b: 2 }), { path: '/nowhere?token=secret-in-query' }],
      signal,
    )

    const logged = () => lines.filter(({ message }) => message === 'request').map(({ fields }) => fields)
    await expect.poll(() => logged().length).toBe(2)
    expect(logged().map(({ method, path, status, aborted }) => [method, path, status, aborted])).toEqual(
      expect.arrayContaining([
        ['POST', '/call', 200, undefined],
        ['GET', '/nowhere', 404, undefined],
      ]),
    )
    expect(JSON.stringify(lines)).not.toContain('secret-in-query')
  })

  test('a call, a poll and the registry work over HTTP/3, and links lead back to it', async ({ signal }) => {
    verifies('opencall:237', 'opencall:325')
    const { port } = await startQuicSite({ operations })

    const [sum, byPath, otherMethod, accepted, registry, nowhere] = await http3Requests(
      port,
      [
        calling('v1:math.add', { a: 1, b: 2 }),
        { ...calling('math.add:v1', { a: 2, b: 2 }), path: '/ops/math/add/v1' },
        { path: '/ops/math/add/v1' },
        calling('v1:reports.make', {}, { requestId: 'r-1' }),
        { path: '/.well-known/ops' },
        { path: '/nowhere' },
      ],
      signal,
    )
    const [polled] = await http3Requests(port, [{ path: '/ops/r-1', headers: { prefer: 'wait=20' } }], signal)

    expect(sum?.status).toBe(200)
    expect(sum && envelopeIn(sum)).toMatchObject({ state: 'complete', result: 3 })
    expect(byPath && envelopeIn(byPath)).toMatchObject({ result: 4, meta: { op: 'v1:math.add' } })
    expect([otherMethod?.status, otherMethod?.headers.allow]).toEqual([405, 'POST'])
    expect(accepted && envelopeIn(accepted)).toMatchObject({ location: { uri: `https://127.0.0.1:${port}/ops/r-1` } })
    expect(registry?.body.toString()).toContain('v1:clock.tick')
    expect([nowhere?.status, nowhere && envelopeIn(nowhere).state]).toEqual([404, 'error'])
    expect(polled && envelopeIn(polled)).toMatchObject({ state: 'complete', result: { rows: 3 } })
  })

  test('each stream is read on a QUIC stream of its own, and ends with an envelope', async ({ signal }) => {
    verifies('opencall:064', 'opencall:327', 'opencall:328')
    const { port } = await startQuicSite({ operations })
    const transport = 'quic'
    const subscribed = await http3Requests(
      port,
      [
        calling('v1:clock.tick', { count: 200, transport }, { requestId: 'whole' }),
        calling('v1:clock.tick', { count: 2, fails: true, transport }, { requestId: 'broken' }),
      ],
      signal,
    )
    const blocks = subscribed.map((reply) => envelopeIn(reply).stream as unknown as StreamBlock)

    const read = await http3Requests(port, blocks.map(reading), signal)

    expect(subscribed.map(({ status }) => status)).toEqual([202, 202])
    expect(blocks[0]).toMatchObject({ transport, accept: RECORDS_TYPE })
    expect(blocks[0]?.location).toMatch(`https://127.0.0.1:${port}/streams/`)
    expect(new Set(read.map(({ stream }) => stream)).size).toBe(2)
    expect(read.map(({ headers }) => headers['content-type'])).toEqual([RECORDS_TYPE, RECORDS_TYPE])
    const [whole = [], broken = []] = read.map(({ body }) => recordsIn(body))
    expect(whole.slice(0, -1).map((record) => JSON.parse(textOf(record)).n)).toEqual(
      Array.from({ length: 200 }, (_, index) => index + 1),
    )
    expect(whole.map(({ kind }) => kind).slice(-2)).toEqual(['frame', 'envelope'])
    expect(JSON.parse(lastOf(whole))).toEqual({ requestId: 'whole', state: 'complete' })
    expect(JSON.parse(lastOf(broken))).toMatchObject({
      requestId: 'broken',
      state: 'error',
      error: { code: 'PANIC_CLOCK_STOPPED' },
    })
  })

  test('a ticket is good for one reader, and for its own stream', async ({ signal }) => {
    const { port } = await startQuicSite({ operations })
    const subscribe = calling('v1:clock.tick', { count: 1, transport: 'quic' })
    const [first, second] = (await http3Requests(port, [subscribe, subscribe], signal)).map(
      (reply) => envelopeIn(reply).stream as unknown as StreamBlock,
    )
    if (!first || !second) throw new Error('There are two streams.')

    const [foreign] = await http3Requests(port, [reading({ ...first, auth: second.auth })], signal)
    const [wrong] = await http3Requests(port, [reading({ ...first, auth: { ...first.auth, credential: 'x' } })], signal)
    const [right] = await http3Requests(port, [reading(first)], signal)
    const [again] = await http3Requests(port, [reading(first)], signal)

    expect([foreign?.status, wrong?.status, right?.status, again?.status]).toEqual([401, 401, 200, 401])
  })

  test('the HTTPS port tells browsers of HTTP/3 if they can use it, and /ready names the carrier', async () => {
    const { auth } = protection()
    const wide = await startQuicSite({ operations, auth, quic: { port: 0, host: '0.0.0.0' } })
    const narrow = await startQuicSite({ operations })

    const [told, untold] = [await ready(wide.url), await ready(narrow.url)]

    expect(told.altSvc).toBe(`h3=":${wide.port}"; ma=3600`)
    expect(untold.altSvc).toBeUndefined()
    const hints = [wide, narrow].map(({ lines }) => lines.filter(({ message }) => message.includes('browsers')).length)
    expect(hints).toEqual([0, 1])
    expect(untold.body).toMatchObject({ status: 'ok', carriers: { quic: { connected: true } } })
  })

  test('raw streams carry one call each, and every later state', async ({ signal }) => {
    verifies('opencall:237', 'opencall:325')
    const { rawPort } = await startQuicSite({ operations })
    const sent = [
      { op: 'v1:math.add', args: { a: 1, b: 2 }, ctx: { requestId: 'sum' } },
      { op: 'v1:reports.make', args: {}, ctx: { requestId: 'report' } },
      { op: 'v1:nothing.here', args: {}, ctx: { requestId: 'unknown' } },
    ]

    const { alpn, streams } = await rawStreams(
      rawPort,
      sent.map((envelope) => JSON.stringify(envelope)),
      0,
      signal,
    )

    const replies = streams.map(({ records }) => records.map((record) => JSON.parse(textOf(record))))
    expect(alpn).toBe('callplane/1')
    expect(replies[0]).toMatchObject([{ requestId: 'sum', state: 'complete', result: 3 }])
    expect(replies[1]?.map(({ requestId }) => requestId)).toEqual(replies[1]?.map(() => 'report'))
    expect(replies[1]?.at(-1)).toMatchObject({ state: 'complete', result: { rows: 3 } })
    expect(replies[2]).toMatchObject([{ requestId: 'unknown', state: 'error' }])
    expect(streams.map(({ reset }) => reset)).toEqual([null, null, null])
  })

  test('on a raw connection the server opens a QUIC stream for each stream of frames', async ({ signal }) => {
    verifies('opencall:327', 'opencall:328')
    const { rawPort } = await startQuicSite({ operations })
    const subscribe = (requestId: string, fails: boolean) =>
      JSON.stringify({ op: 'v1:clock.tick', args: { count: 100, fails }, ctx: { requestId } })

    const { streams } = await rawStreams(rawPort, [subscribe('whole', false), subscribe('broken', true)], 2, signal)

    const frames = streams.filter(({ stream }) => stream % 4 === 1).map(({ records }) => records)
    const byId = new Map(frames.map((records) => [JSON.parse(firstOf(records)).requestId, records]))
    for (const id of ['whole', 'broken']) {
      const numbers = byId
        .get(id)
        ?.filter(({ kind }) => kind === 'frame')
        .map((record) => JSON.parse(textOf(record)).n)
      expect(numbers).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
    }
    const ends = ['whole', 'broken'].map((id) => JSON.parse(lastOf(byId.get(id))))
    expect(ends).toMatchObject([{ state: 'complete' }, { state: 'error', error: { code: 'PANIC_CLOCK_STOPPED' } }])
    const replies = streams.filter(({ stream }) => stream % 4 === 0).map(({ records }) => JSON.parse(firstOf(records)))
    expect(replies[0]).toMatchObject({ state: 'streaming', stream: { transport: 'quic', encoding: 'json' } })
    expect(replies[0].stream.location).toMatch(`quic://127.0.0.1:${rawPort}/streams/`)
  })

  test('with authentication an envelope brings its credential, and the rest is refused', async ({ signal }) => {
    verifies('opencall:237', 'opencall:326')
    const { token, auth } = protection()
    const { port, rawPort } = await startQuicSite({ operations, auth })
    const envelope = { op: 'v1:math.add', args: { a: 1, b: 2 } }
    const bearer = (credential: string) => ({
      ...envelope,
      auth: { iss: 'here', sub: 'ada', credentialType: 'bearer', credential },
    })

    const { streams } = await rawStreams(
      rawPort,
      [envelope, bearer('wrong'), bearer(token)].map((each) => JSON.stringify(each)),
      0,
      signal,
    )
    const call = calling('v1:math.add', { a: 1, b: 2 })
    const asked = [call, { ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } }]
    const overHttp = await http3Requests(port, asked, signal)

    const states = streams.map(({ records }) => JSON.parse(firstOf(records)).state)
    expect(states).toEqual(['error', 'error', 'complete'])
    expect(overHttp.map(({ status }) => status)).toEqual([401, 200])
  })
})
