/** Streams on a socket of their own, at the location of the reply: tickets, frames, resuming and the end. */
import { crc32 } from 'node:zlib'
import { jsonSchema, operation } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Fault } from '../../../src/core/fault.ts'
import type { StreamBody } from '../../../src/protocols/opencall/wire.ts'
import { verifies } from '../../requirements.ts'
import { createStepClock, type Site, startSite } from '../../scenarios/server.ts'
import { openSocket, refusedSocket } from './client.ts'
import { counting, createFeed } from './operations.ts'
import { serveReader } from './serving.ts'
import { withTokens } from './tokens.ts'

async function subscribe(site: Site, op: string, args: object = {}, ctx: object = {}, headers = {}) {
  const { status, body } = await site.call(op, args, { requestId: 'r', ...ctx }, { headers })
  const stream = body.stream as StreamBody
  const ticket = String(stream?.auth?.credential)
  return { status, body, stream, ticket, url: `${stream?.location}?ticket=${ticket}` }
}

test('the reply names the socket and a one-time key, and the socket carries bare frames until the stream is complete', async () => {
  verifies('opencall:064', 'opencall:065', 'opencall:066', 'opencall:067', 'opencall:068', 'opencall:069')
  verifies('opencall:071', 'opencall:074', 'opencall:076', 'opencall:099', 'opencall:101')
  verifies('opencall:195', 'opencall:196', 'opencall:205', 'opencall:208', 'opencall:306', 'opencall:307')
  verifies('opencall:054', 'opencall:059', 'opencall:296', 'opencall:300')
  const site = await startSite({ operations: [counting] })
  const { status, body, stream, url } = await subscribe(site, 'v1:clock.tick', { count: 2 }, { sessionId: 's' })
  const waiting = await site.poll('r')
  const { next, closed } = await openSocket(url)
  const frames = [await next(), await next()]
  const end = await closed
  const last = await site.poll('r')

  expect(waiting.body).toMatchObject({ requestId: 'r', state: 'streaming', stream: { location: stream.location } })
  expect([status, body]).toMatchObject([202, { requestId: 'r', sessionId: 's', state: 'streaming' }])
  expect(stream).toEqual({
    transport: 'wss',
    encoding: 'json',
    schema: 'v1:clock.tick#frame',
    location: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+\/streams\/[\w-]+$/),
    sessionId: 's',
    expiresAt: expect.any(Number),
    auth: { credentialType: 'otk', credential: expect.stringMatching(/^\S{40,}$/), expiresAt: expect.any(Number) },
  })
  expect(frames).toEqual([{ text: '{"n":1}' }, { text: '{"n":2}' }])
  expect(end).toEqual({ code: 1000, reason: 'complete' })
  expect(last.body).toMatchObject({ state: 'complete', result: { frames: 2, ended: 'done' } })
  expect(last.body.stream).toBeUndefined()
})

test('a call over a WebSocket that names the transport gets a dedicated socket, too', async () => {
  verifies('opencall:306')
  const { url } = await startSite({ operations: [counting] })
  const { call, envelope } = await openSocket(`${url}/call`)
  call('v1:clock.tick', { count: 1, transport: 'wss' }, { requestId: 'r' })
  const { stream } = await envelope()
  const { next } = await openSocket(`${stream?.location}`, {
    headers: { authorization: `OTK ${stream?.auth?.credential}` },
  })

  expect(stream?.auth?.credentialType).toBe('otk')
  expect((await next()).text).toBe('{"n":1}')
  expect(await envelope()).toMatchObject({ requestId: 'r', state: 'complete' })
})

test('texts arrive whole where their bytes need a longer head than their characters', async () => {
  const texts = [1, 61, 62, 63, 123, 124, 1_000, 32_766, 32_767, 40_000].flatMap((n) => ['x'.repeat(n), 'é'.repeat(n)])
  const says = operation('v1:it.says', {
    frame: jsonSchema<string>({ type: 'string' }),
    *run() {
      yield* texts
    },
  })
  const site = await startSite({ operations: [says] })
  const { next } = await openSocket((await subscribe(site, 'v1:it.says')).url)
  const { call, envelope, next: shared } = await openSocket(`${site.url}/call`)
  call('v1:it.says', {}, { requestId: 'shared' })
  const { stream } = await envelope()

  expect(stream).toMatchObject({ channel: 1 })
  for (const text of texts) {
    expect((await next()).text).toBe(JSON.stringify(text))
    expect((await shared()).bytes?.subarray(4).toString()).toBe(JSON.stringify(text))
  }
})

test('frames of other encodings and sealed frames are binary', async () => {
  verifies('opencall:196', 'opencall:200', 'opencall:201', 'opencall:202', 'opencall:215')
  const schema = jsonSchema<{ n: number }>({ type: 'object' })
  const cbor = operation('v1:it.packs', {
    frame: schema,
    stream: { encodings: ['cbor'] },
    *run() {
      yield { n: 1 }
    },
  })
  const feed = createFeed()
  const site = await startSite({ operations: [cbor, feed.sealed] })
  const packed = await openSocket((await subscribe(site, 'v1:it.packs', {}, { requestId: 'packed' })).url)
  const sealed = await openSocket((await subscribe(site, 'v1:feed.sealed', {}, { requestId: 'sealed' })).url)
  feed.send(7)
  const frame = (await sealed.next()).bytes

  expect((await packed.next()).bytes?.includes(Buffer.from([0x61, 0x6e, 0x01]))).toBe(true)
  expect([frame?.readBigUInt64BE(), frame?.readUInt8(8), frame?.readUInt32BE(9)]).toEqual([1n, 1, crc32('{"n":7}')])
  expect(frame?.subarray(13).toString()).toBe('{"n":7}')
})

test('a stream that fails closes its socket with 4000 and the code of the error', async () => {
  verifies('opencall:205')
  const feed = createFeed()
  const site = await startSite({ operations: [feed.plain] })
  const { url } = await subscribe(site, 'v1:feed.follow')
  const { closed } = await openSocket(url)
  feed.fail(new Error('The sensor is broken.'))

  expect(await closed).toEqual({ code: 4000, reason: expect.stringMatching(/^[A-Z_]+: /) })
})

test('a reason that is too long for a close frame is cut at a character', async () => {
  const { port, channel, stop } = await serveReader()
  onTestFinished(stop)
  const { closed } = await openSocket(`http://127.0.0.1:${port}/streams/s`)
  const fault = new Fault('unavailable', 'ü'.repeat(500), { code: 'DEVICE_OFF' })
  await (await channel).end(fault)

  expect(await closed).toEqual({ code: 4000, reason: `DEVICE_OFF: ${'ü'.repeat(55)}` })
})

test('what a reader sends is no command', async () => {
  verifies('opencall:197')
  const feed = createFeed()
  const site = await startSite({ operations: [feed.plain, counting] })
  const { url } = await subscribe(site, 'v1:feed.follow')
  const { send, next, socket } = await openSocket(url)
  send({ op: 'v1:clock.tick', args: { count: 1 }, ctx: { requestId: 'command' } })
  send(Buffer.from('anything'))
  socket.ping()
  await new Promise((resolve) => socket.once('pong', resolve))
  feed.send(1)

  expect((await next()).text).toBe('{"n":1}')
  expect((await site.poll('command')).status).toBe(404)
})

test('unsubscribing by HTTP ends the socket in order', async () => {
  verifies('opencall:204')
  const site = await startSite({ operations: [counting] })
  const { url } = await subscribe(site, 'v1:clock.tick', { count: 1, stays: true })
  const { next, closed } = await openSocket(url)
  await next()
  await site.call('v1:unsubscribeFromStream', { requestId: 'r' })

  expect(await closed).toEqual({ code: 1000, reason: 'complete' })
})

test('a stream ends at its expiry, and not before', async () => {
  verifies('opencall:102', 'opencall:207')
  const clock = createStepClock()
  const forever = operation('v1:it.lasts', {
    frame: jsonSchema<number>({ type: 'integer' }),
    ttlSeconds: 3600,
    async *run(_args: unknown, { signal }) {
      yield 1
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  })
  const site = await startSite({ operations: [forever], clock })
  const { url, stream } = await subscribe(site, 'v1:it.lasts')
  const { next, closed, socket } = await openSocket(url)
  await next()
  let before = 0
  socket.once('close', () => {
    before ||= clock.now()
  })
  const end = await clock.passing(closed, 60_000)

  expect(end).toEqual({ code: 1000, reason: 'complete' })
  expect(before).toBeGreaterThanOrEqual(Number(stream.expiresAt) * 1000)
})

describe('a ticket', () => {
  test('is refused when it is used again, is unknown, or belongs to another stream', async () => {
    verifies('opencall:075')
    const { ann, auth } = withTokens()
    const headers = { authorization: `Bearer ${ann}` }
    const feed = createFeed()
    const site = await startSite({ operations: [feed.plain], auth })
    const first = await subscribe(site, 'v1:feed.follow', {}, { requestId: 'first' }, headers)
    const second = await subscribe(site, 'v1:feed.follow', {}, { requestId: 'second' }, headers)
    await openSocket(first.url)
    const refusals = await Promise.all([
      refusedSocket(first.url),
      refusedSocket(`${first.stream.location}?ticket=guess`),
      refusedSocket(`${first.stream.location}?ticket=${second.ticket}`),
      refusedSocket(`${first.stream.location}`, { headers: { authorization: 'OTK guess' } }),
      refusedSocket(`${first.stream.location}`),
    ])

    expect(refusals.map(({ status, body }) => `${status} ${body.state} ${body.error?.code}`)).toEqual([
      '401 error INVALID_TICKET',
      '401 error INVALID_TICKET',
      '401 error INVALID_TICKET',
      '401 error INVALID_TICKET',
      '401 error AUTH_REQUIRED',
    ])
  })

  test('expires after a minute', async () => {
    verifies('opencall:074')
    const clock = createStepClock()
    const site = await startSite({ operations: [counting], clock })
    const { url, stream } = await subscribe(site, 'v1:clock.tick', { count: 1 })
    const lifeMs = Number(stream.auth?.expiresAt) * 1000 - clock.now()
    clock.advance(60_001)
    const { status, body } = await refusedSocket(url)

    expect(lifeMs).toBeLessThanOrEqual(60_000)
    expect([status, body.error?.code]).toEqual([401, 'INVALID_TICKET'])
  })
})

test('a second reader with the caller’s own credential takes the place of the first, and goes on after a frame', async () => {
  verifies('opencall:201')
  const { ann, auth } = withTokens()
  const headers = { authorization: `Bearer ${ann}` }
  const feed = createFeed()
  const site = await startSite({ operations: [feed.sealed], auth })
  const { url, stream } = await subscribe(site, 'v1:feed.sealed', {}, {}, headers)
  const first = await openSocket(url)
  for (const n of [1, 2, 3]) feed.send(n)
  for (let n = 0; n < 3; n++) await first.next()
  const second = await openSocket(`${stream.location}?after=1&access_token=${ann}`)
  const seqs = [(await second.next()).bytes, (await second.next()).bytes].map((bytes) => bytes?.readBigUInt64BE())

  expect(seqs).toEqual([2n, 3n])
  expect(await first.closed).toMatchObject({ code: 4000, reason: expect.stringMatching(/^READER_REPLACED: /) })
  expect((await refusedSocket(`${stream.location}?after=x`, { headers })).status).toBe(400)
})
