/** A proxy in front of an S3 server that breaks the requests a test chooses, as a network or a server would. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type Break =
  /** Responds itself, and the server never sees the request. */
  | { answer: number; code?: string; headers?: Record<string, string> }
  /** The connection ends before the server sees the request. */
  | 'cut-request'
  /** The server does what it is asked, and the response never arrives. */
  | 'lose-answer'
  /** Half of the response arrives. */
  | 'cut-answer'
  /** A bit changes on the way. */
  | 'corrupt-request'
  | 'corrupt-answer'
  /** No response, and the connection stays open. */
  | 'stall'

export interface Seen {
  method: string
  /** The path and the query, as they are sent. */
  url: string
  headers: IncomingMessage['headers']
}

export interface FaultyProxy extends AsyncDisposable {
  readonly endpoint: string
  /** All requests, in order. */
  readonly seen: readonly Seen[]
  readonly connections: number
  /** Breaks the next `times` requests for which `which` is true. */
  breakNext(which: (request: Seen) => boolean, how: Break, times?: number): void
  /** Called with each request before it is sent on. */
  before: (request: Seen) => Promise<void> | undefined
}

export async function startFaultyProxy(port: number): Promise<FaultyProxy> {
  const seen: Seen[] = []
  const planned: { which: (request: Seen) => boolean; how: Break; times: number }[] = []
  let connections = 0
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    const at = { method, url, headers }
    seen.push(at)
    const plan = planned.find((each) => each.times > 0 && each.which(at))
    if (plan) plan.times -= 1
    void Promise.resolve(proxy.before(at))
      .then(() => forward(request, response, port, plan?.how))
      // The client has left.
      .catch(() => response.destroy())
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: FaultyProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    get connections() {
      return connections
    },
    breakNext: (which, how, times = 1) => void planned.push({ which, how, times }),
    before: () => undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}

async function forward(request: IncomingMessage, response: ServerResponse, port: number, how?: Break): Promise<void> {
  const body = await buffer(request)
  if (how === 'cut-request') return void response.destroy()
  if (how === 'stall') return
  if (typeof how === 'object') {
    const text = how.code === undefined ? '' : `<Error><Code>${how.code}</Code><Message>Planned.</Message></Error>`
    response.writeHead(how.answer, { 'content-length': text.length, ...how.headers }).end(text)
    return
  }
  if (how === 'corrupt-request') flipBit(body)
  const { method, url, headers } = request
  // The agent would keep connections, and a server that is stopped waits for them.
  const sent = send({ host: '127.0.0.1', port, method, path: url, headers, agent: false }).end(body)
  const [got] = (await once(sent, 'response')) as [IncomingMessage]
  const content = await buffer(got)
  if (how === 'lose-answer') return void response.destroy()
  if (how === 'corrupt-answer') flipBit(content)
  const { connection: _, 'transfer-encoding': __, ...kept } = got.headers
  response.writeHead(got.statusCode ?? 500, { ...(method !== 'HEAD' && { 'content-length': content.length }), ...kept })
  if (how !== 'cut-answer') return void response.end(content)
  response.write(content.subarray(0, content.length >> 1), () => response.destroy())
}

function flipBit(bytes: Buffer): void {
  if (bytes.length > 0) bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
}
