/** `callplane call --follow` of a stream: frames as lines, live; Ctrl-C unsubscribes. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { jsonSchema, operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { verifies } from '../requirements.ts'
import { createGate, startSite } from '../scenarios/server.ts'
import { runCommand } from './streams.ts'

vi.setConfig({ testTimeout: 30_000 })

const N = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })

test('prints each frame as a line of JSON, and ends with the stream', async () => {
  const count = operation('v1:clock.count', { frame: N, run: () => [{ n: 1 }, { n: 2 }] })
  const site = await startSite({ operations: [count] })

  const followed = await runCommand(['call', 'v1:clock.count', '--follow', '--url', site.url])
  const plain = await runCommand(['call', 'v1:clock.count', '--url', site.url])

  expect(followed).toEqual({ code: 0, stdout: '{"n":1}\n{"n":2}\n', stderr: '' })
  expect(JSON.parse(plain.stdout)).toMatchObject({ state: 'streaming', stream: { auth: { credentialType: 'otk' } } })
})

/** Any OpenCALL server that answers a call with this stream, and records who connects to it. */
async function serveStream(describe: (origin: string) => object, serve: (socket: WebSocket) => void) {
  const connected: [protocol: string, authorization: string | undefined][] = []
  const server = createServer(async (request, response) => {
    if (request.headers.accept === 'text/event-stream') {
      connected.push(['sse', request.headers.authorization])
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.end('event: frame\ndata: {"n":1}\n\nevent: end\ndata: {"state":"complete"}\n\n')
      return
    }
    response.setHeader('Content-Type', 'application/json')
    const error = { code: 'CLOCK_STOPPED', message: 'The clock has stopped.' }
    if (request.url?.startsWith('/ops/')) {
      response.end(JSON.stringify({ requestId: request.url.slice('/ops/'.length), state: 'error', error }))
      return
    }
    const { requestId } = JSON.parse(await text(request)).ctx
    response.writeHead(202).end(JSON.stringify({ requestId, state: 'streaming', stream: describe(origin) }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  new WebSocketServer({ server }).on('connection', (socket, { headers }) => {
    connected.push(['wss', headers.authorization])
    serve(socket)
  })
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin, connected }
}

test.each([
  ['wss', { credentialType: 'otk', credential: 'key' }, 'OTK key'],
  ['wss', { credentialType: 'bearer', credential: 'key' }, 'Bearer key'],
  ['wss', undefined, 'Bearer own-token'],
  ['sse', { credentialType: 'otk', credential: 'key' }, 'OTK key'],
  ['sse', undefined, 'Bearer own-token'],
])(
  'it connects to the location over %s with the credential of the reply, %j, or else its own',
  async (transport, auth, sent) => {
    verifies('opencall:072', 'opencall:100', 'opencall:287')
    const { origin, connected } = await serveStream(
      (at) => ({
        transport,
        encoding: 'json',
        location: `${transport === 'wss' ? at.replace('http', 'ws') : at}/frames/7`,
        ...(auth && { auth }),
      }),
      (socket) => {
        socket.send('{"n":1}')
        socket.close(1000)
      },
    )

    const followed = await runCommand(['call', 'v1:clock.count', '--follow', '--url', origin, '--token', 'own-token'])

    expect(followed).toEqual({ code: 0, stdout: '{"n":1}\n', stderr: '' })
    expect(connected).toEqual([[transport, sent]])
  },
)

test('its own token is not sent to a stream on another server', async () => {
  const other = await serveStream(
    () => ({}),
    (socket) => socket.close(1000),
  )
  const { origin } = await serveStream(
    () => ({ transport: 'wss', location: `${other.origin.replace('http', 'ws')}/frames/7` }),
    () => {},
  )

  await runCommand(['call', 'v1:clock.count', '--follow', '--url', origin, '--token', 'own-token'])

  expect(other.connected).toEqual([['wss', undefined]])
})

test.each([
  [4000, /CLOCK_STOPPED: The clock has stopped/],
  [1006, /The connection broke before the stream ended/],
])('a socket that is closed with %d is a failure', async (code, message) => {
  const { origin } = await serveStream(
    (at) => ({ transport: 'wss', encoding: 'json', location: `${at.replace('http', 'ws')}/frames/7` }),
    (socket) => (code === 1006 ? socket.terminate() : socket.close(code)),
  )

  const { code: exit, stderr } = await runCommand(['call', 'v1:clock.count', '--follow', '--url', origin])

  expect([exit, stderr]).toEqual([1, expect.stringMatching(message)])
})

test('another transport is named, with what to do', async () => {
  const { origin } = await serveStream(
    () => ({ transport: 'mqtt', location: 'mqtt://127.0.0.1/x' }),
    () => {},
  )

  const { code, stderr } = await runCommand(['call', 'v1:clock.count', '--follow', '--url', origin])

  expect([code, stderr]).toEqual([1, expect.stringContaining('sent over mqtt')])
})

test.each([
  ['json with integrity', { integrity: 'crc32' as const }, '{"n":1}\n'],
  ['cbor', { encodings: ['cbor' as const] }, 'uQABYW4B\n'],
])('frames in %s are shown as server-sent events have them', async (_name, stream, line) => {
  const count = operation('v1:clock.count', { frame: N, stream, run: () => [{ n: 1 }] })
  for (const websocket of [true, false]) {
    const site = await startSite({ operations: [count], websocket })

    const followed = await runCommand(['call', 'v1:clock.count', '--follow', '--url', site.url])

    expect(followed).toEqual({ code: 0, stdout: line, stderr: '' })
  }
})

test('a stream that fails is exit 1, with its reason', async () => {
  const broken = operation('v1:clock.broken', {
    frame: N,
    *run(_args, ctx) {
      yield { n: 1 }
      ctx.fail('CLOCK_STOPPED', 'The clock has stopped.')
    },
  })
  const site = await startSite({ operations: [broken] })

  const { code, stdout, stderr } = await runCommand(['call', 'v1:clock.broken', '--follow', '--url', site.url])

  expect({ code, stdout }).toEqual({ code: 1, stdout: '{"n":1}\n' })
  expect(stderr).toContain('CLOCK_STOPPED: The clock has stopped.')
})

test('Ctrl-C unsubscribes: the handler stops at once', async () => {
  const began = createGate()
  const stopped = Promise.withResolvers<unknown>()
  const endless = operation('v1:clock.endless', {
    frame: N,
    async *run(_args, { signal }) {
      yield { n: 1 }
      void began.pass()
      await once(signal, 'abort')
      stopped.resolve((signal.reason as { kind: string }).kind)
    },
  })
  const site = await startSite({ operations: [endless] })
  const interrupt = new AbortController()
  const following = runCommand(['call', 'v1:clock.endless', '--follow', '--url', site.url], {
    signal: interrupt.signal,
  })
  await began.began

  interrupt.abort()

  expect(await stopped.promise).toBe('canceled')
  expect(await following).toMatchObject({ code: 130, stderr: '' })
})

test('the list of operations names the model', async () => {
  const count = operation('v1:clock.count', { frame: N, run: () => [] })
  const site = await startSite({ operations: [count] })

  const { stdout } = await runCommand(['ops', '--url', site.url])

  expect(stdout).toMatch(/^v1:clock\.count +stream/m)
})
