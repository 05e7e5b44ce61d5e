/** `callplane call --follow` subscribes again when it must, and resumes where it can. The server is any OpenCALL server. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { sealer } from '../../src/encodings/integrity.ts'
import { verifies } from '../requirements.ts'
import { runCommand } from './streams.ts'

vi.setConfig({ testTimeout: 30_000 })

interface Connected {
  path: string
  authorization: string | undefined
}

/** Describes the subscription with this number, and serves its connections. A poll gets the state `polled`. */
async function serveStreams(
  describe: (n: number) => object,
  serve: (socket: WebSocket, connected: Connected) => void,
  polled = 'streaming',
) {
  const connected: Connected[] = []
  const requestIds = new Set<string>()
  const unsubscribed: string[] = []
  const server = createServer(async (request, response) => {
    response.setHeader('Content-Type', 'application/json')
    if (request.method === 'GET') {
      const requestId = request.url?.split('/').at(-1)
      response.end(JSON.stringify({ requestId, state: polled }))
      return
    }
    const { op, args, ctx } = JSON.parse(await text(request))
    if (op === 'v1:unsubscribeFromStream') {
      unsubscribed.push(args.requestId)
      response.end(JSON.stringify({ requestId: ctx.requestId, state: 'complete', result: {} }))
      return
    }
    requestIds.add(ctx.requestId)
    const n = requestIds.size
    const stream = {
      transport: 'wss',
      encoding: 'json',
      location: `${origin.replace('http', 'ws')}/s/${n}`,
      ...describe(n),
    }
    response.writeHead(202).end(JSON.stringify({ requestId: ctx.requestId, state: 'streaming', stream }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  new WebSocketServer({ server }).on('connection', (socket, { headers, url = '' }) => {
    const one = { path: url, authorization: headers.authorization }
    connected.push(one)
    serve(socket, one)
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const follow = () => runCommand(['call', 'v1:clock.count', '--follow', '--url', origin, '--token', 'own'])
  return { connected, requestIds, unsubscribed, follow }
}

const nowSeconds = () => Math.floor(Date.now() / 1000)

test('a credential that has expired before the connection is not used: it subscribes again', async () => {
  verifies('opencall:077')
  const { connected, follow } = await serveStreams(
    (n) => ({ auth: { credentialType: 'otk', credential: `key${n}`, expiresAt: nowSeconds() + (n === 1 ? 0 : 60) } }),
    (socket) => socket.close(1000),
  )

  expect(await follow()).toMatchObject({ code: 0, stderr: '' })
  expect(connected).toEqual([{ path: '/s/2', authorization: 'OTK key2' }])
})

test('it subscribes again before the stream expires, and leaves the old one', async () => {
  verifies('opencall:070')
  const { connected, requestIds, unsubscribed, follow } = await serveStreams(
    (n) => ({ expiresAt: nowSeconds() + (n === 1 ? 2 : 3600) }),
    (socket, { path }) => {
      socket.send(JSON.stringify({ from: path }))
      if (path === '/s/2') socket.close(1000)
    },
  )

  expect(await follow()).toEqual({ code: 0, stdout: '{"from":"/s/1"}\n{"from":"/s/2"}\n', stderr: '' })
  expect(connected.map(({ path }) => path)).toEqual(['/s/1', '/s/2'])
  expect(unsubscribed).toEqual([...requestIds].slice(0, 1))
})

test('a channel that closed without an end is over: it subscribes again', async () => {
  verifies('opencall:206')
  const { connected, follow } = await serveStreams(
    () => ({}),
    (socket, { path }) => {
      socket.send('{"n":1}', () => (path === '/s/1' ? socket.terminate() : socket.close(1000)))
    },
  )

  expect(await follow()).toEqual({ code: 0, stdout: '{"n":1}\n{"n":1}\n', stderr: '' })
  expect(connected.map(({ path }) => path)).toEqual(['/s/1', '/s/2'])
})

test('a stream that ended while the connection was lost is over, and is not subscribed to again', async () => {
  const { connected, follow } = await serveStreams(
    () => ({}),
    (socket) => socket.send('{"n":1}', () => socket.terminate()),
    'complete',
  )

  expect(await follow()).toEqual({ code: 0, stdout: '{"n":1}\n', stderr: '' })
  expect(connected).toHaveLength(1)
})

test('with integrity it resumes after the last frame, with the credential of the call', async () => {
  verifies('opencall:206')
  const seal = sealer('crc32')
  const { connected, follow } = await serveStreams(
    () => ({
      auth: { credentialType: 'otk', credential: 'key', expiresAt: nowSeconds() + 60 },
      integrity: { algorithm: 'crc32', seqBytes: 8 },
    }),
    (socket, { path }) => {
      const n = path === '/s/1' ? 1 : 2
      socket.send(seal(n, JSON.stringify({ n })), () => (n === 1 ? socket.terminate() : socket.close(1000)))
    },
  )

  expect(await follow()).toEqual({ code: 0, stdout: '{"n":1}\n{"n":2}\n', stderr: '' })
  expect(connected).toEqual([
    { path: '/s/1', authorization: 'OTK key' },
    { path: '/s/1?after=1', authorization: 'Bearer own' },
  ])
})
