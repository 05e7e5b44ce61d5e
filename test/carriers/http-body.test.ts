import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { createRequestListener } from '../../src/carriers/http/index.ts'
import type { Fault } from '../../src/core/fault.ts'
import type { Handle } from '../../src/core/ports/exchange.ts'
import { echo, openSocket, readToClose, readUntil, refuse, route, say, startCarrier, text } from './http-fixture.ts'

const echoRoutes = [route('/echo', { POST: echo })]
const head = (length: number, more = '') => `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n${more}\r\n`

test('a text arrives whole, in one packet with its head or byte by byte', async () => {
  const { port } = await startCarrier(echoRoutes)
  const body = Buffer.from('grüße 🦊')
  const socket = await openSocket(port)
  socket.setNoDelay(true)

  socket.write(Buffer.concat([Buffer.from(head(body.length)), body]))
  const together = await readUntil(socket, '\xf0\x9f\xa6\x8a')
  socket.write(head(body.length))
  const apart = readUntil(socket, '\xf0\x9f\xa6\x8a')
  for (const byte of body) await new Promise((sent) => socket.write(Buffer.of(byte), sent))

  expect(Buffer.from(together, 'latin1').toString()).toContain('\r\n\r\ngrüße 🦊')
  expect(Buffer.from(await apart, 'latin1').toString()).toContain('\r\n\r\ngrüße 🦊')
})

test('requests sent without waiting are answered in their order on one connection', async () => {
  const { port } = await startCarrier(echoRoutes)

  const reply = await say(port, `${head(3)}one${head(3)}two${head(0)}${head(5, 'Connection: close\r\n')}three`)

  expect([...reply.matchAll(/\r\n\r\n(\w*)/g)].map((match) => match[1]?.replace('HTTP', ''))).toEqual([
    'one',
    'two',
    '',
    'three',
  ])
})

test.each([
  ['announced', head(1_001)],
  [
    'sent in pieces',
    `POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n${'x'.repeat(1_001)}\r\n`,
  ],
])('a body above the limit (%s) is refused, and the connection closed', async (_, bytes) => {
  const { port } = await startCarrier(echoRoutes)

  const reply = await say(port, bytes)

  expect(reply).toContain('BODY_TOO_LARGE')
  expect(reply).toContain('Connection: close')
})

test('a client that continues to send a refused body gets the refusal, and is not read for long', async () => {
  const { server, port } = await startCarrier(echoRoutes)
  const [socket, [ours]] = await Promise.all([openSocket(port), once(server, 'connection')])
  const answered = readUntil(socket, 'BODY_TOO_LARGE')
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => socket.destroy())

  socket.write(head(1e10))
  const block = Buffer.alloc(1 << 20)
  const flood = () => {
    while (!socket.destroyed && socket.write(block));
  }
  socket.on('drain', flood)
  flood()
  await answered
  await closed

  expect(ours.bytesRead).toBeLessThan(4 << 20)
})

const floods = {
  announced: [head(800_000), Buffer.alloc(800_000)],
  'sent in pieces': [
    'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nc3500\r\n',
    Buffer.concat([Buffer.alloc(800_000), Buffer.from('\r\n0\r\n\r\n')]),
  ],
} as const

test.each(Object.entries(floods))(
  'a client that reads only after it has sent a refused body gets the reason (%s)',
  async (_, [start, body]) => {
    const { server, port } = await startCarrier(echoRoutes)
    const [socket, [ours]] = await Promise.all([openSocket(port), once(server, 'connection')])
    socket.pause()

    socket.write(start)
    for (let at = 0; at < body.length; at += 50_000) {
      await new Promise<void>((sent, failed) => {
        socket.write(body.subarray(at, at + 50_000), (error) => (error ? failed(error) : sent()))
      })
      await new Promise(setImmediate)
    }

    expect(await readToClose(socket)).toContain('BODY_TOO_LARGE')
    expect(ours.bytesRead).toBe(start.length + body.length)
  },
)

test('a body without a Content-Length is bounded, even if it arrived before the handler read it', async () => {
  const late: Handle = async (exchange, params) => {
    await new Promise(setImmediate)
    return echo(exchange, params)
  }
  const { port } = await startCarrier([route('/echo', { POST: late })])
  const start = 'POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'

  const small = await say(port, `${start}2\r\nhi\r\n0\r\n\r\n`)
  const large = await say(port, `${start}3e9\r\n${'x'.repeat(1_001)}\r\n0\r\n\r\n`)

  expect(small).toContain('\r\n\r\nhi')
  expect(large).toContain('BODY_TOO_LARGE')
})

test('the body is asked for with 100 Continue only when it is read, and a refused one is never asked for', async () => {
  const { port } = await startCarrier(echoRoutes)
  const socket = await openSocket(port)
  const expecting = 'Expect: 100-continue\r\n'

  socket.write(head(2, expecting))
  const invited = await readUntil(socket, '\r\n\r\n')
  socket.write('hi')
  const answered = await readUntil(socket, 'hi')
  const refused = await say(port, head(5_000, expecting))

  expect(invited).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  expect(answered).toMatch(/^HTTP\/1.1 200 /)
  expect(refused).toMatch(/^HTTP\/1.1 400 [\s\S]*BODY_TOO_LARGE/)
})

test.each([
  ['a lone continuation byte', '\x80', 'not UTF-8'],
  ['an encoded surrogate', '\xed\xa0\x80', 'not UTF-8'],
])('a body that is not UTF-8 is refused: %s', async (_, bytes, advice) => {
  const { port } = await startCarrier(echoRoutes)

  const reply = await say(port, `${head(bytes.length, 'Connection: close\r\n')}${bytes}`)

  expect(reply).toContain('INVALID_UTF8')
  expect(reply).toContain(advice)
})

test('a slow body is refused when its time is up, however steadily it drips', async () => {
  const { port } = await startCarrier(echoRoutes, { bodyTimeoutMs: 60 })
  const socket = await openSocket(port)
  const reply = readToClose(socket)

  socket.write(head(500))
  const drip = setInterval(() => socket.write('x'), 5)
  onTestFinished(() => clearInterval(drip))

  expect(await reply).toMatch(/^HTTP\/1.1 400 [\s\S]*Connection: close[\s\S]*BODY_TIMEOUT/)
})

test('a body that breaks off is a fault in the handler, and its signal aborts', async () => {
  const seen = Promise.withResolvers<{ fault: Fault; aborted: boolean }>()
  const { port } = await startCarrier([
    route('/echo', {
      POST: async (exchange) => {
        const { signal } = exchange
        await Promise.resolve(exchange.text(1_000)).catch((fault: Fault) =>
          seen.resolve({ fault, aborted: signal.aborted }),
        )
        return text('nobody hears this')
      },
    }),
  ])
  const socket = await openSocket(port)

  socket.write(`${head(500)}half`)
  socket.destroy()

  const { fault, aborted } = await seen.promise
  expect([fault.kind, fault.code, aborted]).toEqual(['malformed', 'BODY_INCOMPLETE', true])
})

test('broken chunk framing is answered, although no protocol sees it', async () => {
  const { port } = await startCarrier(echoRoutes)

  const reply = await say(port, 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n')

  expect(reply).toMatch(/^HTTP\/1.1 400 [\s\S]*INVALID_REQUEST/)
})

test('a small unread body does not cost the connection', async () => {
  const { port } = await startCarrier([route('/deaf', { POST: () => text('heard nothing') })])
  const socket = await openSocket(port)

  socket.write(`POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody`)
  const first = await readUntil(socket, 'heard nothing')
  socket.write(`POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody`)
  const second = await readUntil(socket, 'heard nothing')

  expect([first, second].map((reply) => reply.includes('keep-alive'))).toEqual([true, true])
})

test('behind a body parser the developer is told to mount it the other way round', async () => {
  const app = express()
  app.use(express.json())
  app.use(createRequestListener(echoRoutes, { fallback: refuse }))
  const server = createServer(app).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')

  const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/echo`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  })

  expect([reply.status, await reply.json()]).toMatchObject([500, { code: 'BODY_ALREADY_READ' }])
})
