/** Peers that break the rules of WebSockets, flood the server, do not read, or vanish. */
import { operation } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { verifies } from '../../requirements.ts'
import { createGate, startSite } from '../../scenarios/server.ts'
import { openSocket, refusedSocket } from './client.ts'
import { createFeed } from './operations.ts'
import { RawPeer } from './raw-peer.ts'
import { serveReader, serveSockets } from './serving.ts'
import { withTokens } from './tokens.ts'

const echo = operation('v1:it.echoes', { run: (args) => args })

async function startEcho(sizes = {}) {
  const site = await startSite({ operations: [echo], sizes: { envelopeBytes: 100_000, ...sizes } })
  const port = Number(new URL(site.url).port)
  const connect = async () => {
    const { peer } = await RawPeer.connect(port, '/call')
    onTestFinished(() => void peer.socket.destroy())
    return peer
  }
  return { ...site, connect }
}

/** The head of a masked text message of 100 MB. */
const HUGE = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x05, 0xf5, 0xe1, 0x00, 1, 2, 3, 4])

test.each([
  ['a frame without a mask', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 'INVALID_FRAME', 1002],
  ['an unknown opcode', RawPeer.frame(5, 'x'), 'INVALID_FRAME', 1002],
  ['a fragmented ping', RawPeer.frame(9, 'x', false), 'INVALID_FRAME', 1002],
  ['a reserved bit', Buffer.from([0xf1, 0x80, 0, 0, 0, 0]), 'INVALID_FRAME', 1002],
  ['a continuation of nothing', RawPeer.frame(0, 'x'), 'INVALID_FRAME', 1002],
  ['text that is not UTF-8', RawPeer.frame(1, Buffer.from([0xff, 0xfe])), 'INVALID_UTF8', 1007],
  ['a message of 100 MB', HUGE, 'BODY_TOO_LARGE', 1009],
])('%s gets an error envelope and then the end of the connection', async (_title, bytes, code, closeCode) => {
  verifies('opencall:308')
  const { connect, call } = await startEcho()
  const peer = await connect()
  await peer.write(bytes)
  const said = JSON.parse((await peer.next())?.payload.toString() ?? 'null')
  const closing = await peer.next()

  expect(said).toMatchObject({ requestId: expect.any(String), state: 'error', error: { code } })
  expect([closing?.opcode, closing?.payload.readUInt16BE()]).toEqual([8, closeCode])
  expect((await call('v1:it.echoes', { still: 'here' })).body.result).toEqual({ still: 'here' })
})

test.each([
  ['no JSON', 'garbage', 'INVALID_JSON'],
  ['bytes that are no text', Buffer.from([0xff, 0x00]), 'INVALID_UTF8'],
  ['an empty message', '', 'INVALID_JSON'],
  ['deep nesting', `{"op":"v1:it.echoes","args":${'['.repeat(40_000)}`, 'TOO_DEEP'],
  ['a message above the limit', 'x'.repeat(100_001), 'BODY_TOO_LARGE'],
])('%s gets an error envelope, and the connection goes on', async (_title, message, code) => {
  verifies('opencall:308')
  const { url } = await startEcho()
  const { send, envelope, call } = await openSocket(`${url}/call`)
  send(message)
  const said = await envelope()
  call('v1:it.echoes', { still: 'here' })

  expect(said).toMatchObject({ state: 'error', error: { code } })
  expect((await envelope()).result).toEqual({ still: 'here' })
})

test('a message in more fragments than anybody needs ends the connection', async () => {
  const { connect } = await startEcho()
  const peer = await connect()
  await peer.write(RawPeer.frame(1, '{', false))
  await peer.write(Buffer.concat(Array.from({ length: 20_000 }, () => RawPeer.frame(0, '', false))))

  expect(JSON.parse((await peer.text()) ?? 'null')).toMatchObject({ error: { code: 'TOO_MANY_FRAGMENTS' } })
})

test('a peer that half-closes or vanishes ends its session, and its recorded call goes on', async () => {
  const gate = createGate()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const { url, ended } = await startSite({ operations: [build] })
  const { peer } = await RawPeer.connect(Number(new URL(url).port), '/call')
  await peer.send(JSON.stringify({ op: 'v1:jobs.build', args: {}, ctx: { requestId: 'kept' } }))
  await peer.next()
  await gate.began
  const closed = new Promise((resolve) => peer.socket.once('close', resolve))
  peer.socket.end()
  peer.socket.resume()
  await closed
  gate.open('built')

  expect((await ended('kept')).body).toMatchObject({ state: 'complete', result: 'built' })
})

test('a flood of calls is answered in full, and another peer does not wait for its end', async () => {
  const { url } = await startEcho()
  const flood = await openSocket(`${url}/call`)
  const other = await openSocket(`${url}/call`)
  const total = 5_000
  for (let n = 0; n < total; n++) flood.call('v1:it.echoes', { n })
  const answered: unknown[] = []
  const reading = (async () => {
    while (answered.length < total) answered.push((await flood.envelope()).state)
  })()
  other.call('v1:it.echoes', { other: true })
  await other.envelope()
  const before = answered.length
  await reading

  expect(before).toBeLessThan(total)
  expect(new Set(answered)).toEqual(new Set(['complete']))
})

test('a peer has a bounded number of messages handled in one turn of the event loop', async () => {
  const done = Promise.withResolvers<void>()
  const perTurn: number[] = []
  let inTurn = 0
  const { port, stop } = await serveSockets({
    session: () => ({
      receive() {
        if (inTurn++ === 0) {
          setImmediate(() => {
            perTurn.push(inTurn)
            if (perTurn.reduce((sum, count) => sum + count) === 5_000) done.resolve()
            inTurn = 0
          })
        }
      },
      refuse() {},
      finish: async () => {},
      close: async () => {},
    }),
  })
  onTestFinished(stop)
  const { peer } = await RawPeer.connect(port, '/call')
  await peer.write(Buffer.concat(Array.from({ length: 5_000 }, () => RawPeer.frame(1, '{}'))))
  await done.promise
  peer.socket.destroy()

  expect(Math.max(...perTurn)).toBeLessThanOrEqual(64)
})

test('a peer that sends more messages in a second than the limit waits for the next one', async () => {
  const clock = createManualClock()
  let received = 0
  let wake = () => {}
  const { port, stop } = await serveSockets({
    clock,
    messagesPerSecond: 10,
    session: () => ({
      receive() {
        received++
        wake()
      },
      refuse() {},
      finish: async () => {},
      close: async () => {},
    }),
  })
  onTestFinished(stop)
  const until = async (count: number) => {
    while (received < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  const { peer } = await RawPeer.connect(port, '/call')
  await peer.write(Buffer.concat(Array.from({ length: 25 }, () => RawPeer.frame(1, '{}'))))
  await until(10)
  // Enough turns for the rest to arrive, if nothing held it.
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  const inFirst = received
  clock.advance(1_000)
  await until(20)
  clock.advance(1_000)
  await until(25)
  peer.socket.destroy()

  expect(inFirst).toBe(10)
})

test('pings of a peer that does not read are not collected', async () => {
  const { port, stop } = await serveSockets()
  onTestFinished(stop)
  const { peer } = await RawPeer.connect(port, '/call')
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => RawPeer.frame(9, 'x'.repeat(125))))
  const sent = 150_000
  for (let n = 0; n < sent / 1_000; n++) await peer.write(pings)
  await peer.write(RawPeer.frame(8, Buffer.of(0x03, 0xe8)))
  let pongs = 0
  for (let next = await peer.next(); next && next.opcode !== 8; next = await peer.next()) pongs++

  expect(pongs).toBeGreaterThan(0)
  expect(pongs).toBeLessThan(sent)
})

describe('a peer that is silent', () => {
  test('is disconnected when it does not respond to a ping', async () => {
    const { port, stop, channel } = await serveReader({ pingMs: 20 })
    onTestFinished(stop)
    const { peer } = await RawPeer.connect(port, '/streams/s')
    const { signal } = await channel
    const opcodes: unknown[] = []
    for (let next = await peer.next(); next; next = await peer.next()) opcodes.push(next.opcode)
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))

    expect(opcodes).toEqual([9])
  })

  test('stays as long as it responds', async () => {
    const { port, stop, channel } = await serveReader({ pingMs: 20 })
    onTestFinished(stop)
    const { peer } = await RawPeer.connect(port, '/streams/s')
    for (let n = 0; n < 5; n++) {
      const ping = await peer.next()
      await peer.write(RawPeer.frame(10, ping?.payload ?? ''))
    }

    expect((await channel).signal.aborted).toBe(false)
  })

  test('and does not read is disconnected, although messages wait for it', async () => {
    const { port, stop, channel } = await serveReader({ pingMs: 50 })
    onTestFinished(stop)
    const { peer } = await RawPeer.connect(port, '/streams/s')
    const frames = await channel
    const { signal } = frames
    peer.socket.pause()
    while (!signal.aborted) await frames.send('x'.repeat(64 * 1024))
    peer.socket.destroy()
  })
})

test('a connection ends when more waits for its peer than the limit', async () => {
  const { port, stop, channel } = await serveReader({ maxBufferedBytes: 1_000_000 })
  onTestFinished(stop)
  const { peer } = await RawPeer.connect(port, '/streams/s')
  const frames = await channel
  const { signal } = frames
  const gone = new Promise((resolve) => signal.addEventListener('abort', resolve))
  for (let n = 0; n < 1_000 && !signal.aborted; n++) void frames.send('x'.repeat(64 * 1024))
  await gone
  peer.socket.destroy()
})

test('pages of other sites and other host names are refused before the upgrade', async () => {
  const { url } = await startSite({ operations: [echo], cors: { origins: ['https://app.example'] } })
  const foreign = await refusedSocket(`${url}/call`, { headers: { origin: 'https://evil.example' } })
  const rebound = await refusedSocket(`${url}/call`, { headers: { host: 'evil.example' } })
  const named = await openSocket(`${url}/call`, { headers: { origin: 'https://app.example' } })
  const own = await openSocket(`${url}/call`, { headers: { origin: url } })
  named.call('v1:it.echoes')
  own.call('v1:it.echoes')

  expect([foreign.status, foreign.body.error?.code]).toEqual([403, 'CROSS_SITE'])
  expect([rebound.status, rebound.body.error?.code]).toEqual([403, 'HOST_NOT_ALLOWED'])
  expect([(await named.envelope()).state, (await own.envelope()).state]).toEqual(['complete', 'complete'])
})

test('one caller cannot follow the calls of another on its connection', async () => {
  const { ann, bob, auth } = withTokens()
  const gate = createGate()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const { url } = await startSite({ operations: [build], auth })
  const mine = await openSocket(`${url}/call?access_token=${ann}`)
  const theirs = await openSocket(`${url}/call?access_token=${bob}`)
  mine.call('v1:jobs.build', {}, { requestId: 'mine' })
  await mine.envelope()
  theirs.call('v1:getOperation', { requestId: 'mine', watch: true })
  theirs.call('v1:cancelOperation', { requestId: 'mine' })
  const answers = [await theirs.envelope(), await theirs.envelope()]
  gate.open('built')

  expect(answers.map(({ error }) => error?.code)).toEqual(['NOT_FOUND', 'NOT_FOUND'])
})

test('a server that closes says so to its peers, and ends their streams', async () => {
  const feed = createFeed()
  const site = await startSite({ operations: [feed.plain] })
  const { call, envelope, closed } = await openSocket(`${site.url}/call`)
  call('v1:feed.follow', {}, { requestId: 'r' })
  await envelope()
  const closing = site.close(5_000)
  const last = await envelope()

  expect(last).toMatchObject({ requestId: 'r', state: 'error', error: { code: 'PANIC_STREAM_INTERRUPTED' } })
  expect(await closed).toEqual({ code: 1001, reason: 'The server is shutting down.' })
  await closing
})
