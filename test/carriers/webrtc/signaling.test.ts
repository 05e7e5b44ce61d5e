/** Offers and answers over HTTP: what is refused, and what is bounded. */
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { createServer, jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import type { TrackFrame } from '../../../src/core/operation/stream.ts'
import { freePort } from '../../engines/free-port.ts'
import { verifies } from '../../requirements.ts'
import { createStepClock, type Site, startSite } from '../../scenarios/server.ts'
import { Reader } from './reader.ts'
import { count, tick } from './streams.ts'
import { guardUdp } from './udp-guard.ts'

vi.setConfig({ testTimeout: 30_000 })
guardUdp()

const film = operation('v1:camera.film', {
  args: jsonSchema<Record<string, unknown>>({ type: 'object' }),
  frame: jsonSchema<TrackFrame>({ type: 'object' }),
  stream: { transports: ['webrtc'], track: { kind: 'video', codec: 'VP8' } },
  async *run() {
    yield { bytes: new Uint8Array([1, 2, 3]), timestampMs: 0 }
  },
})

interface WebRtcReply {
  connection: string
  type: 'answer'
  sdp: string
}

async function connections(site: Site): Promise<string> {
  const ready = (await (await site.request('/ready')).json()) as { carriers: { webrtc: { detail: string } } }
  return ready.carriers.webrtc.detail
}

async function until(done: () => Promise<boolean>): Promise<void> {
  while (!(await done())) await new Promise((resolve) => setImmediate(resolve))
}

async function makeOffer(sections?: 'data' | 'video'): Promise<{ type: 'offer'; sdp: string }> {
  const reader = new Reader()
  const offer = await reader.offer(sections)
  await reader.close()
  return offer
}

/** Two ports in a row. */
async function freePorts(): Promise<[number, number]> {
  for (;;) {
    const port = await freePort()
    const sockets = [port, port + 1].map((each) => createSocket('udp4').bind(each, '127.0.0.1'))
    const bound = await Promise.allSettled(sockets.map((socket) => once(socket, 'listening')))
    for (const socket of sockets) socket.close()
    if (bound.every(({ status }) => status === 'fulfilled')) return [port, port + 1]
  }
}

function webrtcOf(body: object): WebRtcReply {
  return (body as { stream: { webrtc: WebRtcReply } }).stream.webrtc
}

test('offers that cannot be answered are refused over HTTP, and nothing is recorded', async () => {
  verifies('opencall:324')
  const site = await startSite({ operations: [tick, film], webrtc: true })
  const { sdp } = await makeOffer()
  const video = await makeOffer('video')
  const candidate = 'a=candidate:1 1 udp 2122260223 192.0.2.1 5000 typ host\r\n'
  const bad: [string, unknown, string, string?][] = [
    ['no object', 'v=0', 'VALIDATION_ERROR'],
    ['no offer', {}, 'INVALID_OFFER'],
    ['an answer', { type: 'answer', sdp }, 'INVALID_OFFER'],
    ['a misspelt option', { type: 'offer', sdp, orderd: false }, 'INVALID_OFFER'],
    ['a wrong option', { type: 'offer', sdp, maxRetransmits: -1 }, 'INVALID_OFFER'],
    ['an offer and a connection', { type: 'offer', sdp, connection: 'x' }, 'INVALID_OFFER'],
    ['no description', { type: 'offer', sdp: 'hello' }, 'INVALID_OFFER'],
    ['no sections', { type: 'offer', sdp: 'v=0\r\ns=-\r\n' }, 'INVALID_OFFER'],
    ['no fingerprint', { type: 'offer', sdp: sdp.replace(/a=fingerprint.*\r\n/g, '') }, 'INVALID_OFFER'],
    [
      'garbage after the start',
      { type: 'offer', sdp: sdp.replace(/m=application.*/, 'm=\u0000\u0000') },
      'INVALID_OFFER',
    ],
    ['a huge description', { type: 'offer', sdp: sdp + 'a=x\r\n'.repeat(20_000) }, 'INVALID_OFFER'],
    ['too many candidates', { type: 'offer', sdp: sdp + candidate.repeat(101) }, 'INVALID_OFFER'],
    ['too many sections', { type: 'offer', sdp: sdp + sdp.slice(sdp.indexOf('m=')).repeat(16) }, 'INVALID_OFFER'],
    ['no data section', video, 'INVALID_OFFER'],
    ['no video section', { type: 'offer', sdp }, 'UNSUPPORTED_CODEC', 'v1:camera.film'],
    [
      'another codec',
      { type: 'offer', sdp: video.sdp.replaceAll('VP8/', 'H261/') },
      'UNSUPPORTED_CODEC',
      'v1:camera.film',
    ],
    ['an unknown connection', { connection: 'x' }, 'CONNECTION_NOT_FOUND'],
  ]

  for (const [what, webrtc, code, op = 'v1:numbers.tick'] of bad) {
    const requestId = what.replaceAll(' ', '-')
    const { status, body } = await site.call(op, { webrtc }, { requestId })
    expect([what, status >= 400 && status < 500, body], what).toMatchObject([
      what,
      true,
      { requestId, state: 'error', error: { code } },
    ])
    expect((await site.poll(requestId)).status).toBe(404)
  }
  expect(await connections(site)).toBe('0 connections')
})

test('signaling needs the credential, and the connection belongs to its caller', async () => {
  verifies('opencall:236', 'opencall:322', 'opencall:324')
  const headers = (name: string) => ({ headers: { authorization: `Bearer token-of-${name}` } })
  const hash = (name: string) => `sha256:${createHash('sha256').update(`token-of-${name}`).digest('hex')}`
  const token = (name: string) => ({ hash: hash(name), kind: 'bearer' as const, subject: name, scopes: ['*'] })
  const site = await startSite({ operations: [tick], webrtc: true, auth: { tokens: [token('ada'), token('bob')] } })
  const reader = new Reader()
  const webrtc = await reader.offer()

  const refused = await site.call('v1:numbers.tick', { webrtc })
  const { body } = await site.call('v1:numbers.tick', { webrtc }, {}, headers('ada'))
  await reader.connect(webrtcOf(body))
  const { connection } = webrtcOf(body)
  const foreign = await site.call('v1:numbers.tick', { webrtc: { connection } }, {}, headers('bob'))

  expect(refused).toMatchObject({ status: 401, body: { state: 'error', error: { code: 'AUTH_REQUIRED' } } })
  expect(body.stream).not.toHaveProperty('auth')
  expect(String(await reader.next())).toBe('{"n":1}')
  expect(foreign.body).toMatchObject({ state: 'error', error: { code: 'CONNECTION_NOT_FOUND' } })
  await reader.close()
})

test('a media track and a data channel share one connection, which closes after the last stream', async () => {
  verifies('opencall:321', 'opencall:323')
  const site = await startSite({ operations: [film, count], webrtc: true })
  const reader = new Reader()
  const received = Promise.withResolvers<Buffer>()
  reader.peer.onTrack.subscribe((track) => track.onReceiveRtp.once(({ payload }) => received.resolve(payload)))

  const { body } = await site.call('v1:camera.film', { webrtc: await reader.offer('both') }, { requestId: 'film' })
  const { connection } = webrtcOf(body)
  const beside = await site.call('v1:numbers.count', { count: 1, webrtc: { connection } }, { requestId: 'beside' })
  await reader.connect(webrtcOf(body))

  expect((await received.promise).subarray(-3)).toEqual(Buffer.from([1, 2, 3]))
  expect(String(await reader.next())).toBe('{"n":1}')
  expect(beside.body.stream).toMatchObject({ location: `webrtc:${connection}/beside`, webrtc: { channel: 'beside' } })
  await until(async () => (await connections(site)) === '0 connections')
  expect(reader.ends.map(({ requestId }) => requestId).sort()).toEqual(['beside', 'film'])
  await reader.close()
})

test('the answer names loopback addresses only, and candidates of the offer are not used', async () => {
  verifies('opencall:321')
  const site = await startSite({ operations: [tick], webrtc: true })
  const { sdp } = await makeOffer()
  const foreign = [
    'a=candidate:1 1 udp 2122260223 192.0.2.1 5000 typ host',
    'a=candidate:2 1 udp 2122260222 c0ffee00-0000-4000-8000-000000000000.local 5001 typ host',
    'a=candidate:3 1 udp 2122260221 turn.example 5002 typ relay raddr 0.0.0.0 rport 0',
  ].join('\r\n')

  const { body } = await site.call('v1:numbers.tick', { webrtc: { type: 'offer', sdp: `${sdp}${foreign}\r\n` } })

  const addresses = [...webrtcOf(body).sdp.matchAll(/^a=candidate:\S+ \d udp \d+ (\S+)/gm)].map(([, host]) => host)
  expect(addresses).toEqual(['127.0.0.1'])
  expect(webrtcOf(body).sdp).toContain('a=ice-lite')
})

test('a peer that never connects ends its stream, and its socket is closed', async () => {
  const clock = createStepClock()
  const site = await startSite({ operations: [tick], webrtc: true, clock, work: { leaseMs: 600_000 } })
  await site.call('v1:numbers.tick', { webrtc: await makeOffer() }, { requestId: 'never' })
  const before = await connections(site)
  clock.advance(30_000)

  expect((await site.ended('never')).body).toMatchObject({ state: 'error', error: { code: 'PANIC_READER_GONE' } })
  expect(before).toBe('1 connections')
  await until(async () => (await connections(site)) === '0 connections')
})

test('a peer that falls silent is gone, and the stream ends a minute later', async () => {
  const clock = createStepClock()
  const site = await startSite({ operations: [tick], webrtc: true, clock, work: { leaseMs: 600_000 } })
  const reader = new Reader()
  const { body } = await site.call('v1:numbers.tick', { webrtc: await reader.offer() }, { requestId: 'silent' })
  await reader.connect(webrtcOf(body))
  await reader.next()
  reader.relay?.close()
  clock.advance(40_000)
  await until(async () => (await connections(site)) === '0 connections')
  const before = (await site.poll('silent')).body.state
  clock.advance(60_000)

  expect(before).toBe('streaming')
  expect((await site.ended('silent')).body).toMatchObject({ state: 'error', error: { code: 'PANIC_READER_GONE' } })
  await reader.close()
})

test('a call that is sent again has the answer of the first, and opens no second connection', async () => {
  const site = await startSite({ operations: [tick], webrtc: true })
  const first = await site.call('v1:numbers.tick', { webrtc: await makeOffer() }, { requestId: 'again' })
  const again = await site.call('v1:numbers.tick', { webrtc: await makeOffer() }, { requestId: 'again' })

  expect(webrtcOf(again.body)).toEqual(webrtcOf(first.body))
  expect(await connections(site)).toBe('1 connections')
})

test('the number of connections is bounded, and so are the ports', async () => {
  const ports = await freePorts()
  const site = await startSite({ operations: [tick], webrtc: { ports, maxConnections: 3 } })
  const offers = await Promise.all([makeOffer(), makeOffer(), makeOffer(), makeOffer()])

  const replies = await Promise.all(offers.map((webrtc) => site.call('v1:numbers.tick', { webrtc })))

  const used = replies.flatMap(({ body }) =>
    body.state === 'streaming' ? /udp \d+ 127\.0\.0\.1 (\d+)/.exec(webrtcOf(body).sdp)?.[1] : [],
  )
  const refused = replies.flatMap(({ body }) => (body.state === 'error' ? body.error?.code : []))
  expect(used.map(Number).sort()).toEqual(ports)
  expect(refused.sort()).toEqual(['PANIC_NO_PORT', 'PANIC_TOO_MANY_CONNECTIONS'])
})

test('garbage on the socket of a connection disturbs nothing', async () => {
  const site = await startSite({ operations: [count], webrtc: true })
  const reader = new Reader()
  const { body } = await site.call('v1:numbers.count', { count: 3, webrtc: await reader.offer() }, { requestId: 'g' })
  const port = Number(/udp \d+ 127\.0\.0\.1 (\d+)/.exec(webrtcOf(body).sdp)?.[1])
  const stranger = createSocket('udp4')
  const stun = Buffer.from('000100002112a442000102030405060708090a0b', 'hex')
  const dtls = Buffer.from('16fefd0000000000000000000401000000', 'hex')
  for (const packet of [Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(1_400, 0xff), stun, dtls]) {
    await new Promise((resolve) => stranger.send(packet, port, '127.0.0.1', resolve))
  }
  await reader.connect(webrtcOf(body))

  expect(String(await reader.next())).toBe('{"n":1}')
  expect((await site.ended('g')).body).toMatchObject({ state: 'complete', result: { frames: 3 } })
  stranger.close()
  await reader.close()
})

test('a peer that opens channel after channel is disconnected', async () => {
  const site = await startSite({ operations: [tick], webrtc: true })
  const reader = new Reader()
  const { body } = await site.call('v1:numbers.tick', { webrtc: await reader.offer() })
  await reader.connect(webrtcOf(body))
  await reader.next()

  for (let n = 0; n < 100; n++) reader.peer.createDataChannel(`channel ${n}`)

  await until(async () => (await connections(site)) === '0 connections')
  await reader.close()
})

test('a frame that is larger than the reader takes ends the channel with the reason', async () => {
  const large = operation('v1:numbers.large', {
    args: jsonSchema<Record<string, unknown>>({ type: 'object' }),
    frame: jsonSchema<string>({ type: 'string' }),
    async *run() {
      yield 'x'.repeat(300_000)
    },
  })
  const site = await startSite({ operations: [large], webrtc: true })
  const reader = new Reader()
  const { body } = await site.call('v1:numbers.large', { webrtc: await reader.offer() })
  await reader.connect(webrtcOf(body))

  expect(await reader.end()).toBe('error')
  expect(reader.ends[0]?.error?.code).toMatch(/FRAME_TOO_LARGE/)
  await reader.close()
})

test('closing the server ends its connections, with frames under way', async () => {
  const site = await startSite({ operations: [tick], webrtc: true })
  const reader = new Reader()
  const { body } = await site.call('v1:numbers.tick', { webrtc: await reader.offer() })
  await reader.connect(webrtcOf(body))
  await reader.next()
  await site.close(1_000)

  expect(await reader.end()).toBe('error')
  await reader.close()
})

test('options that make no sense are refused before the server starts', async () => {
  const wrong: [unknown, RegExp][] = [
    ['yes', /must be true, false or an object/],
    [{ host: '127.0.0.1' }, /no option "host"/],
    [{ hosts: ['example.org'] }, /Names are not looked up/],
    [{ ports: [5, 5] }, /two different ports/],
    [{ maxConnections: 0 }, /at least 1/],
  ]
  for (const [webrtc, message] of wrong) {
    await expect(createServer({ operations: [tick], webrtc: webrtc as true })).rejects.toThrow(message)
  }
})

test('the operator names the addresses that are announced', async () => {
  const own = Object.values(networkInterfaces()).flatMap((list = []) => list)
  const other = own.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
  const site = await startSite({ operations: [tick], webrtc: { hosts: [other] } })

  const { body } = await site.call('v1:numbers.tick', { webrtc: await makeOffer() })

  expect(webrtcOf(body).sdp).toMatch(new RegExp(`udp \\d+ ${other.replaceAll('.', '\\.')} `))
})
