/** A server without authentication: which clients it serves, wherever it is mounted. */
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, operation, type ServerOptions } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { say } from '../carriers/http-fixture.ts'
import { temporaryFolder } from './server.ts'

const ping = operation('v1:net.ping', { run: () => 'pong' })
const BODY = '{"op":"v1:net.ping"}'

/** Mounted by an application that also tells where requests come from, as a socket from the network would. */
async function mount(options: Partial<ServerOptions>, from?: string): Promise<number> {
  const { listener, close } = await createServer({ operations: [ping], data: temporaryFolder(), ...options })
  onTestFinished(() => close(0))
  const handle: RequestListener = (request, response) => {
    if (from !== undefined) Object.defineProperty(request.socket, 'remoteAddress', { value: from })
    listener(request, response)
  }
  const http = createHttpServer(handle).listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  return (http.address() as AddressInfo).port
}

function call(port: number, host: string): Promise<string> {
  const head = `POST /call HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json\r\n`
  return say(port, `${head}Content-Length: ${BODY.length}\r\n\r\n${BODY}`)
}

test.each([
  ['tools.example', 200],
  ['localhost', 200],
  ['evil.example', 403],
])('with a public address and no authentication the Host %s is answered with %i', async (host, status) => {
  const port = await mount({ publicUrl: 'https://tools.example/v1' })

  expect(await call(port, host)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('mounted where the network reaches it, it refuses the network and says what to do', async () => {
  const port = await mount({}, '192.168.0.7')

  expect(await call(port, 'localhost')).toMatch(/^HTTP\/1.1 403 [\s\S]*NOT_LOOPBACK[\s\S]*configure auth/)
})

test('a server with configured hosts may be reached from other machines', async () => {
  const port = await mount({ hosts: ['tools.example'] }, '192.168.0.7')

  expect(await call(port, 'tools.example')).toMatch(/^HTTP\/1.1 200 /)
  expect(await call(port, 'localhost')).toMatch(/^HTTP\/1.1 403 [\s\S]*HOST_NOT_ALLOWED/)
})
