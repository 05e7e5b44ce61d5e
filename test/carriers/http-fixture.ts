/** A carrier on a free loopback port, and a raw socket to send it what no HTTP client would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import {
  closeHttpServer,
  createHttpServer,
  createRequestListener,
  type ListenerOptions,
  listen,
  type ServerLimits,
} from '../../src/carriers/http/index.ts'
import type { Answer, Exchange, Handle, Refusal, Route } from '../../src/core/ports/exchange.ts'

/** Names the reason of each refusal, so that a test can tell them apart. */
export function refuse(_exchange: Exchange, why: Refusal): Answer {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (why.kind === 'path') return { status: 404, headers, body: JSON.stringify({ code: 'PATH' }) }
  if (why.kind === 'method') {
    return {
      status: 405,
      headers: { ...headers, Allow: why.allow.join(', ') },
      body: JSON.stringify({ code: 'METHOD' }),
    }
  }
  const { kind, code, message } = why.fault
  const status = kind === 'internal' ? 500 : kind === 'forbidden' ? 403 : 400
  return { status, headers, body: JSON.stringify({ code, message }) }
}

export function route(path: string, methods: Route['methods']): Route {
  return { path, methods, refuse }
}

export const text = (body: string, status = 200): Answer => ({
  status,
  headers: { 'Content-Type': 'text/plain' },
  body,
})

/** Responds with the request's body. */
export const echo: Handle = async (exchange) => text(await exchange.text(1_000))

export async function startCarrier(
  routes: readonly Route[],
  options: Partial<ListenerOptions> = {},
  limits: ServerLimits = {},
) {
  const server = createHttpServer(createRequestListener(routes, { fallback: refuse, ...options }), limits)
  const { url, port } = await listen(server, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => closeHttpServer(server, 0))
  return { server, url, port }
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Reads until the other side closes. */
export async function readToClose(socket: Socket): Promise<string> {
  let all = ''
  for await (const chunk of socket) all += (chunk as Buffer).toString('latin1')
  return all
}

/** Reads until the text contains `mark`. */
export function readUntil(socket: Socket, mark: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let all = ''
    const take = (chunk: Buffer) => {
      all += chunk.toString('latin1')
      if (!all.includes(mark)) return
      socket.off('data', take).off('close', closed)
      resolve(all)
    }
    const closed = () => reject(new Error(`Closed before "${mark}" came; got: ${all}`))
    socket.on('data', take).on('close', closed)
  })
}

/** Sends all bytes at once on a new connection. They should contain `Connection: close`. */
export async function say(port: number, bytes: string): Promise<string> {
  const socket = await openSocket(port)
  socket.write(bytes, 'latin1')
  return readToClose(socket)
}
