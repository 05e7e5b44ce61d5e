import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import type { Exchange } from '../../src/core/ports/exchange.ts'
import { echo, openSocket, readToClose, readUntil, route, say, startCarrier, text } from './http-fixture.ts'

const get = 'GET /it HTTP/1.1\r\nHost: a\r\n'
const lastGet = `${get}Connection: close\r\n\r\n`
const silentLog = () => {
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn(), child: () => log }
  return log
}

test('an iterable is sent as it comes, before it has ended', async () => {
  const gate = Promise.withResolvers<void>()
  async function* body() {
    yield 'first,'
    await gate.promise
    yield Buffer.from('second')
  }
  const { port } = await startCarrier([route('/it', { GET: () => ({ status: 200, headers: {}, body: body() }) })])
  const socket = await openSocket(port)

  socket.write(lastGet)
  await readUntil(socket, 'first,')
  gate.resolve()

  expect(await readToClose(socket)).toContain('second')
})

test('a client that does not read holds the source back', async () => {
  const block = Buffer.alloc(256 * 1024)
  let pulled = 0
  async function* endless() {
    for (;;) {
      pulled += block.length
      yield block
      // Lets the event loop turn, as a source that reads a disk would.
      await new Promise(setImmediate)
    }
  }
  const { server, port } = await startCarrier([
    route('/it', { GET: () => ({ status: 200, headers: {}, body: endless() }) }),
  ])
  const [socket, [ours]] = await Promise.all([openSocket(port), once(server, 'connection')])

  socket.pause()
  socket.write(lastGet)
  await vi.waitUntil(() => ours.writableNeedDrain)
  const before = pulled
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate)

  expect(pulled - before).toBeLessThanOrEqual(4 * block.length)
  expect(ours.writableLength).toBeLessThan(2 << 20)
})

test('a client that does not read for too long is disconnected', async () => {
  const returned = Promise.withResolvers<void>()
  async function* endless() {
    try {
      for (;;) yield Buffer.alloc(256 * 1024)
    } finally {
      returned.resolve()
    }
  }
  const endlessRoute = route('/it', { GET: () => ({ status: 200, headers: {}, body: endless() }) })
  const { port } = await startCarrier([endlessRoute], { stallTimeoutMs: 50 })
  const socket = await openSocket(port)

  socket.pause()
  socket.write(lastGet)

  await returned.promise
})

test('when the client leaves, the source is returned and the signal aborts', async () => {
  const signal = Promise.withResolvers<AbortSignal>()
  const returned = Promise.withResolvers<void>()
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => {}),
      return: async () => {
        returned.resolve()
        return { done: true as const, value: undefined }
      },
    }),
  }
  const { port } = await startCarrier([
    route('/it', {
      GET: (exchange) => {
        signal.resolve(exchange.signal)
        return { status: 200, headers: {}, body: source }
      },
    }),
  ])
  const socket = await openSocket(port)

  socket.write(lastGet)
  await readUntil(socket, '\r\n\r\n')
  socket.destroy()

  await returned.promise
  expect((await signal.promise).aborted).toBe(true)
})

test('the signal does not abort when the client leaves after it was answered', async () => {
  const signals: AbortSignal[] = []
  const { port } = await startCarrier([
    route('/it', {
      GET: (exchange) => {
        signals.push(exchange.signal)
        return text('done')
      },
    }),
  ])

  await say(port, lastGet)

  expect(signals.map((signal) => signal.aborted)).toEqual([false])
})

test.each([
  ['fails', {}, ['part'], true],
  ['gives less than the stated length', { 'Content-Length': '10' }, ['part'], false],
  ['gives more than the stated length', { 'Content-Length': '6' }, ['part', 'surplus'], false],
])(
  'a source that %s closes the connection, so that a client notices the incomplete response',
  async (_, headers, parts, fails) => {
    const log = silentLog()
    async function* body() {
      yield* parts
      if (fails) throw new Error('disk gone')
    }
    const { port } = await startCarrier([route('/it', { GET: () => ({ status: 200, headers, body: body() }) })], {
      log,
    })
    const socket = await openSocket(port)
    socket.on('error', () => socket.destroy())
    const all: Buffer[] = []
    socket.on('data', (chunk) => all.push(chunk))

    socket.write(`${get}\r\n${lastGet}`)
    await new Promise((resolve) => socket.on('close', resolve))

    const reply = Buffer.concat(all).toString()
    expect(reply).not.toContain('surplus')
    expect(reply).not.toContain('0\r\n\r\n')
    expect(reply.match(/HTTP\/1.1/g) ?? []).toHaveLength(1)
    expect(log.error).toHaveBeenCalled()
  },
)

test('HEAD does not start the source of a GET', async () => {
  const next = vi.fn()
  const body = { [Symbol.asyncIterator]: () => ({ next }) }
  const { url } = await startCarrier([
    route('/it', { GET: () => ({ status: 200, headers: { 'Content-Length': '12' }, body }) }),
  ])

  const reply = await fetch(`${url}/it`, { method: 'HEAD' })

  expect([reply.status, reply.headers.get('content-length'), next.mock.calls]).toEqual([200, '12', []])
})

test.each([
  [
    'thrown at once',
    () => {
      throw new Error('password is hunter2')
    },
  ],
  ['thrown later', () => Promise.reject(new Error('password is hunter2'))],
  ['a header that would split the answer', () => ({ status: 200, headers: { A: 'b\r\nSet-Cookie: c' }, body: '' })],
])('a bug in a handler is a plain refusal, and the log has the reason: %s', async (_, handle) => {
  const log = silentLog()
  const { url } = await startCarrier([route('/it', { GET: handle })], { log })

  const reply = await fetch(`${url}/it`)

  const body = await reply.text()
  expect([reply.status, reply.statusText, JSON.parse(body).code]).toEqual([500, 'Internal Server Error', 'INTERNAL'])
  expect(body + JSON.stringify([...reply.headers])).not.toMatch(/hunter2|set-cookie| at /i)
  expect(log.error).toHaveBeenCalledOnce()
})

test('a refusal that fails itself still ends the request', async () => {
  const broken = {
    path: '/it',
    methods: {},
    refuse: () => {
      throw new Error('no words')
    },
  }
  const { url } = await startCarrier([broken])

  const reply = await fetch(`${url}/it`)

  expect([reply.status, await reply.text()]).toEqual([500, ''])
})

test('ten thousand requests leave nothing behind', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const seen: WeakRef<Exchange>[] = []
  const { port } = await startCarrier([
    route('/it', {
      POST: (exchange, params) => {
        if (seen.length % 2 === 0) exchange.signal.throwIfAborted()
        seen.push(new WeakRef(exchange))
        return echo(exchange, params)
      },
    }),
  ])
  const socket = await openSocket(port)
  const request = 'POST /it HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi'

  for (let count = 0; count < 10_000; count += 1) {
    socket.write(request)
    await once(socket, 'data')
  }
  await new Promise(setImmediate)
  collect()

  expect(seen).toHaveLength(10_000)
  // The connection is still open and may hold its last one.
  expect(seen.filter((ref) => ref.deref()).length).toBeLessThanOrEqual(2)
})
