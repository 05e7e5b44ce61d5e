import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import type { RemoteRequest } from '../../src/core/ports/outbound.ts'
import type { GuardOptions } from '../../src/security/outbound/guarded-http.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { flood, openTool } from './tool-server.ts'

function client(options?: GuardOptions) {
  const remote = createRemoteClient(options)
  onTestFinished(() => remote.close())
  return remote
}

const request = (url: string, more: Partial<RemoteRequest> = {}): RemoteRequest => ({
  method: 'POST',
  url,
  headers: {},
  body: 'hi',
  maxBytes: 1_000,
  allowPrivate: true,
  signal: new AbortController().signal,
  ...more,
})

/** A server below HTTP: `serve` gets each connection with the requests that came before it. */
async function openSocketServer(serve: (socket: Socket, connection: number) => void): Promise<string> {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => sockets.delete(socket))
    serve(socket, ++connections)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const REFUSED = { kind: 'upstream', code: 'TARGET_REFUSED', retryable: false }

test.each([
  ['no URL', 'tools.example/run'],
  ['a file', 'file:///etc/passwd'],
  ['another scheme', 'ftp://tools.example/'],
  ['credentials', 'https://user:secret@tools.example/'],
  ['loopback', 'http://127.0.0.1:9/'],
  ['loopback in other words', 'http://0x7f.1:9/'],
  ['loopback, IPv6', 'http://[::1]:9/'],
  ['a private network', 'http://10.1.2.3/'],
  ['link-local', 'http://169.254.10.10/'],
  ['a metadata service', 'http://169.254.169.254/latest/meta-data/'],
  ['an IPv4 address inside an IPv6 one', 'http://[::ffff:127.0.0.1]:9/'],
])('nothing is sent to %s', async (_, url) => {
  await expect(client().send(request(url, { allowPrivate: false }))).rejects.toMatchObject(REFUSED)
})

test.each([
  ['loopback', ['127.0.0.1'], false],
  ['a private network', ['192.168.1.1'], false],
  ['link-local', ['fe80::1'], false],
  ['a metadata service', ['169.254.169.254'], false],
  ['a metadata service, though private ones are allowed', ['169.254.169.254'], true],
  ['a good address and a bad one', ['93.184.215.14', '127.0.0.1'], false],
])('a name that leads to %s is refused', async (_, addresses, allowPrivate) => {
  const resolve = vi.fn(async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))

  const sending = client({ resolve }).send(request('http://tools.example/', { allowPrivate }))

  await expect(sending).rejects.toMatchObject(REFUSED)
  expect(resolve).toHaveBeenCalledWith('tools.example')
})

test('a metadata address is refused even where private ones are allowed', async () => {
  await expect(client().send(request('http://169.254.169.254/'))).rejects.toMatchObject(REFUSED)
})

test('a connection that was opened where private addresses are allowed serves no request that does not allow them', async () => {
  const tool = await openTool((_asked, response) => response.end('ok'))
  const port = new URL(tool.url).port
  const remote = client({ resolve: async () => [{ address: '127.0.0.1', family: 4 }] })
  await remote.send(request(`http://tools.example:${port}/`))

  const second = remote.send(request(`http://tools.example:${port}/`, { allowPrivate: false }))

  await expect(second).rejects.toMatchObject(REFUSED)
  expect(tool.asked).toHaveLength(1)
})

test('a redirect is an answer like any other: it is not followed', async () => {
  const tool = await openTool((_asked, response) => response.writeHead(302, { Location: '/elsewhere' }).end())

  const answer = await client().send(request(tool.url))

  expect([answer.status, answer.header('Location'), tool.asked.length]).toEqual([302, '/elsewhere', 1])
})

test('one connection serves one request after another', async () => {
  const tool = await openTool(({ body }, response) => response.end(`${body} größe`))
  const remote = client()

  for (let round = 0; round < 5; round++) expect((await remote.send(request(tool.url))).text).toBe('hi größe')

  expect(tool.connections()).toBe(1)
})

test.each(['GET', 'PUT', 'DELETE'] as const)(
  '%s on a kept connection that turns out to be closed is sent again on a new one',
  async (method) => {
    const url = await openSocketServer(closesAfterOne)
    const remote = client()
    await remote.send(request(url, { method }))

    expect((await remote.send(request(url, { method }))).text).toBe('2')
  },
)

test.each(['POST', 'PATCH'] as const)(
  'a %s is not sent again: it may have been processed, so its sender decides',
  async (method) => {
    const url = await openSocketServer(closesAfterOne)
    const remote = client()
    await remote.send(request(url, { method }))

    await expect(remote.send(request(url, { method }))).rejects.toMatchObject({ kind: 'upstream', retryable: true })
  },
)

/** Answers the first request of each connection, promises to keep it, and closes it at the first byte of the next. */
function closesAfterOne(socket: Socket, connection: number): void {
  socket.once('data', () => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${connection}`)
    socket.once('data', () => socket.destroy())
  })
}

test.each([
  ['no server listens', async () => 'http://127.0.0.1:1/'],
  ['it closes before it answers', () => openSocketServer((socket) => socket.once('data', () => socket.destroy()))],
  ['it closes in the middle', () => openSocketServer(answers('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'))],
  ['it does not speak HTTP', () => openSocketServer(answers('SSH-2.0-OpenSSH_9.6\r\n'))],
  ['its headers do not end', () => openSocketServer(answers(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(20_000)}`))],
])('an answer that does not come is a failure to be tried again: %s', async (_, serve) => {
  const url = await serve()

  const failed = expect(client().send(request(`${url}secret-path`))).rejects

  await failed.toMatchObject({ kind: 'upstream', retryable: true, message: expect.not.stringContaining('secret-path') })
})

function answers(text: string) {
  return (socket: Socket) => void socket.once('data', () => socket.end(text))
}

const TOO_LARGE = { kind: 'upstream', retryable: false, details: { limit_bytes: 1_000 } }

test('an answer that announces too much is not read', async () => {
  const tool = await openTool((_asked, response) => {
    response.writeHead(200, { 'Content-Length': 1_000_000_000 })
    flood(response)
  })

  await expect(client().send(request(tool.url))).rejects.toMatchObject(TOO_LARGE)
  await tool.stopped
})

test('a gigabyte that is not announced is cut off at the limit', async () => {
  const tool = await openTool((_asked, response) => flood(response))

  await expect(client().send(request(tool.url))).rejects.toMatchObject(TOO_LARGE)
  await tool.stopped
})

test('an answer of just the size allowed is taken', async () => {
  const tool = await openTool((_asked, response) => response.end('a'.repeat(1_000)))

  expect((await client().send(request(tool.url))).text).toHaveLength(1_000)
})

test('bytes after the response are not read as the response to the next request', async () => {
  const url = await openSocketServer((socket, connection) => {
    const one = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n${text}`
    socket.once('data', () => socket.write(connection === 1 ? one('first') + one('twice') : one('right')))
  })
  const remote = client()

  expect((await remote.send(request(url))).text).toBe('first')
  expect((await remote.send(request(url, { method: 'GET' }))).text).toBe('right')
})

test('a canceled request rejects with the reason, and the other side sees the connection close', async () => {
  const tool = await openTool(() => {})
  const stop = new AbortController()
  const why = new Fault('timeout', 'Too late.')

  const sending = client().send(request(tool.url, { signal: stop.signal }))
  await tool.begun
  stop.abort(why)

  await expect(sending).rejects.toBe(why)
  await tool.stopped
})

test('a request that was called off before is not sent', async () => {
  const tool = await openTool((_asked, response) => response.end())

  const sending = client().send(request(tool.url, { signal: AbortSignal.abort(new Fault('canceled', 'No.')) }))

  await expect(sending).rejects.toMatchObject({ kind: 'canceled' })
  expect(tool.connections()).toBe(0)
})

test('a header value that would end its line is refused, without being told', async () => {
  const sending = client().send(request('http://127.0.0.1:1/', { headers: { 'X-Key': 'very-secret\r\nX-Other: 1' } }))

  await expect(sending).rejects.toMatchObject({
    kind: 'upstream',
    retryable: false,
    message: expect.not.stringContaining('very-secret'),
  })
})
