/** A proxy that breaks one rule of the protocol at a time, in front of a conforming server. */
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { WebSocket, WebSocketServer } from 'ws'

/** A request on its way to the server. The server gets it as the breach changed it. */
export interface Asked {
  method: string
  /** Path with query. */
  path: string
  headers: Record<string, string>
  body: Buffer
}

/** A response on its way back. */
export interface Served {
  status: number
  headers: Record<string, string>
  body: Buffer
}

export interface Hooks {
  request?(asked: Asked): void
  answer?(served: Served, asked: Asked): void
  /** Changes a text message of the server on a WebSocket. */
  message?(text: string, path: string): string
  /** Sent to a WebSocket that the server refuses, which is accepted instead. */
  welcome?: string
}

export interface BrokenProxy {
  url: string
  /** Applies this breach from now on. */
  break(hooks: Hooks): void
  close(): Promise<void>
}

export async function startBrokenProxy(upstream: string): Promise<BrokenProxy> {
  let hooks: Hooks = {}
  const server = createServer((request, response) => {
    const { request: before, answer: after } = hooks
    relay(request)
      .then((served) => {
        response.writeHead(served.status, { ...served.headers, 'content-length': served.body.length }).end(served.body)
      })
      .catch((error: Error) => response.destroy(error))

    async function relay(incoming: IncomingMessage): Promise<Served> {
      const asked: Asked = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: plainHeaders(incoming),
        body: await buffer(incoming),
      }
      // A breach reads and rewrites bodies, so they must not be compressed.
      delete asked.headers['accept-encoding']
      before?.(asked)
      const served = await forward(upstream, asked)
      after?.(served, asked)
      return served
    }
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const accept = (then: (client: WebSocket) => void) => sockets.handleUpgrade(request, socket, head, then)
    relaySocket(upstream, request, hooks, accept, () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    break: (next) => {
      hooks = next
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const client of sockets.clients) client.terminate()
      server.closeAllConnections()
      await closed
    },
  }
}

function forward(upstream: string, { method, path, headers, body }: Asked): Promise<Served> {
  return new Promise((resolve, reject) => {
    const { 'transfer-encoding': _, ...rest } = headers
    const framed = body.length > 0 ? { ...rest, 'content-length': String(body.length) } : rest
    const outgoing = send(upstream + path, { method, headers: framed }, (response) => {
      buffer(response)
        .then((bytes) => resolve({ status: response.statusCode ?? 0, headers: ownHeaders(response), body: bytes }))
        .catch(reject)
    })
    outgoing.on('error', reject).end(body)
  })
}

/** Connects to the server first, so that the client is refused if the server refuses. */
function relaySocket(
  upstream: string,
  request: IncomingMessage,
  { message, welcome }: Hooks,
  accept: (then: (client: WebSocket) => void) => void,
  refuse: () => void,
): void {
  const path = request.url ?? ''
  const { authorization } = request.headers
  const host = request.headers.host ?? ''
  const behind = new WebSocket(upstream.replace('http', 'ws') + path, {
    headers: { host, ...(authorization && { authorization }) },
  })
  behind.pause()
  behind.on('error', () => (welcome === undefined ? refuse() : accept((client) => client.send(welcome))))
  behind.on('open', () =>
    accept((client) => {
      client.on('message', (data, isBinary) => behind.send(data, { binary: isBinary }))
      behind.on('message', (data, isBinary) => {
        if (isBinary) client.send(data)
        else client.send(message?.(String(data), path.replace(/\?.*/, '')) ?? String(data))
      })
      client.on('close', () => behind.close())
      behind.on('close', () => client.close())
      behind.resume()
    }),
  )
}

/** Removes the headers that apply to a single connection. */
function ownHeaders(message: IncomingMessage): Record<string, string> {
  const headers = plainHeaders(message)
  for (const name of ['connection', 'keep-alive', 'transfer-encoding', 'content-length']) delete headers[name]
  return headers
}

function plainHeaders(message: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]))
}
