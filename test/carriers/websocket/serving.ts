/** The carrier alone on an HTTP server of its own, for the shared suites. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createWebSocketCarrier } from '../../../src/carriers/websocket/index.ts'
import type { FrameChannel, OpenStream, StreamTransport } from '../../../src/core/ports/frames.ts'
import type { OpenSession } from '../../../src/core/ports/session.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'

type Options = Partial<Parameters<typeof createWebSocketCarrier>[0]>

export const dedicated: StreamTransport = {
  name: 'wss',
  place: ({ id, origin }) => ({ location: `${origin.replace('http', 'ws')}/streams/${id}` }),
}

const silent: OpenSession = () => ({ receive() {}, refuse() {}, finish: async () => {}, close: async () => {} })

export async function serveSockets(options: Options = {}) {
  const carrier = createWebSocketCarrier({
    session: silent,
    admit: async (peer) => ({ peer, isKnown: true }),
    read: async () => {},
    dedicated,
    maxBytes: 100_000,
    clock: createManualClock(),
    log: createMemoryLog([]),
    ...options,
  })
  const http = createServer()
  http.on('upgrade', (request, socket, head) => {
    const from = { query: '', origin: 'http://a.example', header: () => undefined }
    const upgraded = { request, socket, head, from, refuse: () => socket.destroy() }
    void (request.url === '/call' ? carrier.takeSession(upgraded) : carrier.takeReader(upgraded, 's'))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  return {
    port,
    carrier,
    async stop() {
      await carrier.close(0)
      http.closeAllConnections()
      http.close()
    },
  }
}

/** Opens the channel of the first reader that connects to `/streams/s`. */
export async function serveReader(options: Options = {}) {
  const opened = Promise.withResolvers<FrameChannel>()
  const stream: OpenStream = { id: 's', requestId: 'r', encoding: 'json', sealed: false }
  const served = await serveSockets({ ...options, read: async (_request, _id, open) => opened.resolve(open(stream)) })
  return { ...served, channel: opened.promise }
}
