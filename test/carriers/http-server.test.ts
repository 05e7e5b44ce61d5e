import { on, once } from 'node:events'
import { expect, test } from 'vitest'
import { closeHttpServer, createHttpServer, listen } from '../../src/carriers/http/index.ts'
import { openSocket, readToClose, readUntil, route, say, startCarrier, text } from './http-fixture.ts'

function heldRoute() {
  const started = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const held = route('/held', {
    GET: async () => {
      started.resolve()
      await gate.promise
      return text('finished')
    },
  })
  return { held, started: started.promise, open: gate.resolve }
}

test('headers above the limit are answered with 431', async () => {
  const { port } = await startCarrier([])

  const reply = await say(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`)

  expect(reply).toMatch(/^HTTP\/1.1 431 [\s\S]*HEADERS_TOO_LARGE/)
})

test('bytes that are not HTTP get 400, and a head that never ends gets 408', async () => {
  const { port } = await startCarrier([], {}, { headersTimeoutMs: 50 })
  const socket = await openSocket(port)
  socket.write('GET / HT')

  expect(await say(port, 'hello there\r\n\r\n')).toMatch(/^HTTP\/1.1 400 [\s\S]*INVALID_REQUEST/)
  expect(await readToClose(socket)).toMatch(/^HTTP\/1.1 408 [\s\S]*REQUEST_TIMEOUT/)
})

test('closing lets an answer under way finish and drops idle connections at once', async () => {
  const { held, started, open } = heldRoute()
  const { server, port } = await startCarrier([held, route('/', { GET: () => text('hello') })])
  const idle = await openSocket(port)
  idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await readUntil(idle, 'hello')
  const busy = await openSocket(port)
  busy.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
  await started

  const closed = closeHttpServer(server, 60_000)
  await readToClose(idle)
  open()

  expect(await readToClose(busy)).toContain('finished')
  await closed
})

test('closing cuts what has not finished when the grace is over', async () => {
  const { held, started } = heldRoute()
  const { server, port } = await startCarrier([held])
  const busy = await openSocket(port)
  busy.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
  await started

  await closeHttpServer(server, 20)

  expect(await readToClose(busy)).toBe('')
})

test('the fault says that the port is in use', async () => {
  const { port } = await startCarrier([])

  const second = listen(
    createHttpServer(() => {}),
    { host: '127.0.0.1', port },
  )

  await expect(second).rejects.toMatchObject({ code: 'PORT_IN_USE', message: expect.stringContaining(`${port}`) })
})

test('a client that does not read its response is disconnected; a client that waits for a long call is not', async () => {
  const { held, started, open } = heldRoute()
  const large = route('/large', { GET: () => text('x'.repeat(64 << 20)) })
  const { server, port } = await startCarrier([held, large], { stallTimeoutMs: 100 })
  const waiting = await openSocket(port)
  waiting.write('GET /held HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await started
  const [deaf, [ours]] = await Promise.all([openSocket(port), once(server, 'connection')])
  const cut = once(ours, 'close')

  deaf.pause().write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  await cut
  open()

  expect(await readToClose(waiting)).toContain('finished')
})

test('a client that reads slowly gets all of its answer', async () => {
  const large = route('/large', { GET: () => text('x'.repeat(32 << 20)) })
  const { port } = await startCarrier([large], { stallTimeoutMs: 300 })
  const socket = await openSocket(port)
  let got = 0
  let pauses = 0
  socket.on('data', (chunk) => {
    got += chunk.length
    if (got < (pauses + 1) * (4 << 20)) return
    pauses += 1
    socket.pause()
    setTimeout(() => socket.resume(), 100)
  })

  socket.write('GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await once(socket, 'end')

  expect(pauses).toBe(8)
  expect(got).toBeGreaterThan(32 << 20)
})

test('an idle connection is closed after the keep-alive time', async () => {
  const { port } = await startCarrier([route('/', { GET: () => text('hello') })], {}, { keepAliveTimeoutMs: 1 })
  const socket = await openSocket(port)

  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')

  expect(await readToClose(socket)).toContain('hello')
})

test('a connection announces the keep-alive time and serves the next request', async () => {
  const { port } = await startCarrier([route('/', { GET: () => text('hello') })], {}, { keepAliveTimeoutMs: 7_000 })
  const socket = await openSocket(port)

  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const first = await readUntil(socket, 'hello')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

  expect(first).toContain('Keep-Alive: timeout=7\r\n')
  expect(await readToClose(socket)).toContain('hello')
})

test('a connection is not idle while its request runs', async () => {
  const held = Promise.withResolvers<void>()
  const slow = route('/slow', { GET: () => held.promise.then(() => text('slow')) })
  const quick = route('/', { GET: () => text('quick') })
  const { port } = await startCarrier([slow, quick], {}, { keepAliveTimeoutMs: 1 })
  const [running, idle] = [await openSocket(port), await openSocket(port)]

  running.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await readUntil(running, 'quick')
  running.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await readToClose(idle)
  held.resolve()

  expect(await readToClose(running)).toContain('slow')
})

test('the time limit of a response that did not fit does not apply to the next request', async () => {
  const held = Promise.withResolvers<void>()
  const large = route('/large', { GET: () => text('x'.repeat(8 << 20)) })
  const slow = route('/slow', { GET: () => held.promise.then(() => text('slow')) })
  const { port, server } = await startCarrier([large, slow], { stallTimeoutMs: 60_000 })
  const accepted = once(server, 'connection')
  const socket = await openSocket(port)
  const [served] = await accepted
  let got = 0

  socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  for await (const [chunk] of on(socket, 'data')) {
    got += chunk.length
    if (got > 8 << 20) break
  }
  const asked = once(server, 'request')
  socket.write('GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await asked

  expect(served.timeout).toBe(0)
  held.resolve()
  expect(await readToClose(socket)).toContain('slow')
})

test('connections past the limit are closed at once, and there is a limit unless one is given', async () => {
  const { server } = await startCarrier([])
  const { port } = await startCarrier([], {}, { maxConnections: 1 })
  await openSocket(port)

  expect(await readToClose(await openSocket(port))).toBe('')
  expect(server.maxConnections).toBe(10_000)
})
