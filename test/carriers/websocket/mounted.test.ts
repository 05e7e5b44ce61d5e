/** WebSockets on an HTTP server of the application: `server.upgrade`. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, operation, type ServerOptions } from 'callplane'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { temporaryFolder } from '../../scenarios/server.ts'
import { openSocket, refusedSocket } from './client.ts'
import { counting } from './operations.ts'

const echo = operation('v1:it.echoes', { run: (args) => args })

async function mount(options: Partial<ServerOptions> = {}) {
  const callplane = await createServer({ operations: [echo, counting], data: temporaryFolder(), ...options })
  const app = express()
  app.use(options.basePath ?? '/', callplane.listener)
  const http = createHttpServer(app)
  const chat = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    if (callplane.upgrade(request, socket, head)) return
    chat.handleUpgrade(request, socket, head, (accepted) => accepted.send('the chat of the application'))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(async () => {
    for (const client of chat.clients) client.terminate()
    await callplane.close(0)
    http.closeAllConnections()
    http.close()
  })
  return { callplane, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
}

test('an application mounts it below a path, beside a WebSocket of its own', async () => {
  const { origin } = await mount({ basePath: '/api' })
  const { call, envelope } = await openSocket(`${origin}/api/call`)
  const chat = await openSocket(`${origin}/chat`)
  call('v1:it.echoes', { a: 1 })
  const echoed = await envelope()
  call('v1:clock.tick', { count: 1, transport: 'wss' })
  const { stream } = await envelope()
  const reader = await openSocket(`${stream?.location}?ticket=${stream?.auth?.credential}`)

  expect(echoed.result).toEqual({ a: 1 })
  expect(stream?.location).toMatch(`${origin.replace('http', 'ws')}/api/streams/`)
  expect((await reader.next()).text).toBe('{"n":1}')
  expect((await chat.next()).text).toBe('the chat of the application')
})

test('it applies the rules for origins itself, and refuses with a response', async () => {
  const { origin } = await mount()
  const refused = await refusedSocket(`${origin}/call`, { headers: { origin: 'https://evil.example' } })

  expect([refused.status, refused.body.error?.code]).toEqual([403, 'CROSS_SITE'])
})

test('closing the server closes its sockets, and later upgrades are refused', async () => {
  const { origin, callplane } = await mount()
  const { closed } = await openSocket(`${origin}/call`)
  await callplane.close(1_000)
  const late = await refusedSocket(`${origin}/call`)

  expect((await closed).code).toBe(1001)
  expect([late.status, late.body.error?.code]).toEqual([503, 'PANIC_SHUTTING_DOWN'])
})

test('without WebSocket an upgrade is an ordinary request, and streams are read as server-sent events', async () => {
  const server = await createServer({ operations: [counting], data: temporaryFolder(), websocket: false })
  onTestFinished(() => server.close(0))
  const { url } = await server.listen({ port: 0 })
  const { status } = await refusedSocket(`${url}/call`)
  const subscribed = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ op: 'v1:clock.tick', args: { count: 1 } }),
  })

  expect(status).toBe(405)
  expect(await subscribed.json()).toMatchObject({ stream: { transport: 'sse' } })
})
