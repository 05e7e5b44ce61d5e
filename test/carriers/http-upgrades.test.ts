/** Upgrade requests: claimed ones get the socket, others get an HTTP response, and closing the carrier ends both. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createServer } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import {
  createHttpCarrier,
  createRequestListener,
  type ServerLimits,
  type UpgradeClaim,
  Upgrades,
} from '../../src/carriers/http/index.ts'
import { temporaryFolder } from '../scenarios/server.ts'
import { echo, route } from './http-fixture.ts'

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n'

/** Answers in capitals. */
const shout: UpgradeClaim = {
  path: '/shout',
  protocol: 'shout',
  take(_request, socket, head) {
    socket.write(SWITCH + head.toString().toUpperCase())
    socket.on('data', (data: Buffer) => socket.write(data.toString().toUpperCase()))
  },
}

async function start(
  claims: readonly UpgradeClaim[],
  options: ConstructorParameters<typeof Upgrades>[1] = {},
  limits: ServerLimits = {},
) {
  const site = { crossSite: 'refuse' as const, ...options }
  const fallback = () => ({ status: 404, headers: {}, body: 'nothing here' })
  const listener = createRequestListener([route('/shout', { POST: echo, GET: () => ({ status: 200, headers: {} }) })], {
    fallback,
    ...site,
  })
  const upgrades = new Upgrades(claims, site)
  const carrier = createHttpCarrier({ listener, host: '127.0.0.1', port: 0, upgrades, limits })
  const { port } = await carrier.listen()
  onTestFinished(() => carrier.close(0))
  return { carrier, port }
}

/** Reads until the text has arrived. Returns the received text and the socket. */
async function ask(port: number, request: string, until: string): Promise<{ socket: Socket; text: string }> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(request)
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.includes(until)) break
  }
  return { socket, text }
}

const upgrade = (path: string, protocol = 'shout', headers = '', method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${headers}\r\n`

test('a claimed upgrade gets the socket, with what was sent behind the request', async () => {
  const { port } = await start([shout])
  const { text, socket } = await ask(port, `${upgrade('/shout?token=t')}early`, 'EARLY')
  socket.write('later')
  const [more] = await once(socket, 'data')

  expect(text).toBe(`${SWITCH}EARLY`)
  expect(String(more)).toBe('LATER')
})

test.each([
  ['another path', upgrade('/other'), 404, 'nothing here'],
  ['another protocol', upgrade('/shout', 'h2c'), 200, '\r\n\r\n'],
  ['a body', `${upgrade('/shout', 'h2c', 'Content-Length: 2\r\n', 'POST')}hi`, 200, 'hi'],
  ['another site', upgrade('/shout', 'shout', 'Origin: https://evil.example\r\n'), 403, 'CROSS_SITE'],
])('a request for an upgrade with %s is answered as a request', async (_title, request, status, until) => {
  const { port } = await start([shout])
  const { text } = await ask(port, request, until)

  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('an upgraded socket may be silent for longer than an idle connection', async () => {
  const { port } = await start([shout], {}, { keepAliveTimeoutMs: 1 })
  const { socket } = await ask(port, upgrade('/shout'), '\r\n\r\n')
  const idle = await ask(port, 'GET /shout HTTP/1.1\r\nHost: a.example\r\n\r\n', '\r\n\r\n')

  await once(idle.socket.resume(), 'close')
  socket.write('still here')
  const [more] = await once(socket, 'data')

  expect(String(more)).toBe('STILL HERE')
})

test('a claim that throws, or whose client resets the connection, ends the socket and not the server', async () => {
  const taken = Promise.withResolvers<Socket>()
  const broken: UpgradeClaim = {
    path: '/broken',
    protocol: 'shout',
    take() {
      throw new Error('a bug')
    },
  }
  const silent: UpgradeClaim = {
    path: '/silent',
    protocol: 'shout',
    take: (_, socket) => taken.resolve(socket as Socket),
  }
  const { port } = await start([shout, broken, silent])
  const { text } = await ask(port, upgrade('/broken'), 'never')
  const leaving = connect(port, '127.0.0.1')
  leaving.write(upgrade('/silent'))
  const socket = await taken.promise
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  leaving.resetAndDestroy()
  await closed

  expect(text).toBe('')
  expect((await ask(port, `${upgrade('/shout')}still here`, 'HERE')).text).toContain('STILL HERE')
})

test('closing ends upgraded sockets, which would keep the server open', async () => {
  const { port, carrier } = await start([shout])
  const { socket } = await ask(port, upgrade('/shout'), '\r\n\r\n')
  const ended = once(socket, 'close')
  socket.resume()
  await carrier.close(0)
  await ended
})

test('a server takes claims as an option, below its base path, and closes their sockets', async () => {
  const server = await createServer({
    operations: [],
    data: temporaryFolder(),
    basePath: '/api',
    upgrades: [shout],
    log: 'silent',
  })
  const { port } = await server.listen({ port: 0 })
  const request = upgrade('/api/shout').replace('a.example', `127.0.0.1:${port}`)
  const { socket, text } = await ask(port, `${request}hello`, 'HELLO')
  const foreign = await ask(port, upgrade('/api/shout'), 'HOST_NOT_ALLOWED')
  const ended = once(socket, 'close')
  socket.resume()
  foreign.socket.destroy()
  await server.close(0)
  await ended
  const late = server.listen({ port: 0 })

  expect(text).toBe(`${SWITCH}HELLO`)
  await expect(late).rejects.toMatchObject({ kind: 'unavailable' })
})

test('without shouldUpgradeCallback in Node, an unclaimed upgrade is refused', async () => {
  const upgrades = new Upgrades([], {})
  const relay: UpgradeClaim = {
    path: '/x',
    protocol: 'shout',
    take: (request, socket, head) => upgrades.take(request, socket, head),
  }
  const { port } = await start([relay])
  const { text } = await ask(port, upgrade('/x'), '}}')
  const [head = '', body = ''] = text.split('\r\n\r\n')

  expect(head).toContain('HTTP/1.1 400 ')
  expect(head).toContain(`Content-Length: ${body.length}`)
})
