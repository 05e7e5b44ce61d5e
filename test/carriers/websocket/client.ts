/** The client of Node's `ws` package, with messages and frames to wait for. */
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'

export interface Received {
  text?: string
  bytes?: Buffer
}

export interface SocketClient {
  readonly socket: WebSocket
  send(message: object | string | Uint8Array): void
  call(op: string, args?: object, ctx?: object, more?: object): void
  /** The next message. Rejects if the socket closes first. */
  next(): Promise<Received>
  /** The next message, which must be an envelope. */
  envelope(): Promise<ResponseEnvelope>
  /** The next message, which must be a frame of a shared socket. */
  frame(): Promise<{ channel: number; payload: Buffer }>
  closed: Promise<{ code: number; reason: string }>
}

/** `url` may be that of the HTTP server. */
export async function openSocket(
  url: string,
  options: ClientOptions & { protocols?: string[] } = {},
): Promise<SocketClient> {
  const { protocols = [], ...rest } = options
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, rest)
  onTestFinished(() => socket.terminate())
  const received: Received[] = []
  const waiting: PromiseWithResolvers<Received>[] = []
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  socket.on('message', (data: Buffer, isBinary) => {
    const message = isBinary ? { bytes: data } : { text: String(data) }
    const waiter = waiting.shift()
    if (waiter) waiter.resolve(message)
    else received.push(message)
  })
  socket.on('close', (code, reason) => {
    for (const waiter of waiting) waiter.reject(new Error(`closed with ${code} ${reason}`))
    closed.resolve({ code, reason: String(reason) })
  })
  await once(socket, 'open')
  socket.on('error', () => {})

  const next = () => {
    const message = received.shift()
    if (message) return Promise.resolve(message)
    const waiter = Promise.withResolvers<Received>()
    if (socket.readyState === WebSocket.CLOSED) waiter.reject(new Error('The socket is closed.'))
    else waiting.push(waiter)
    return waiter.promise
  }
  const send: SocketClient['send'] = (message) =>
    socket.send(typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message))
  return {
    socket,
    send,
    call: (op, args = {}, ctx, more = {}) => send({ op, args, ...(ctx && { ctx }), ...more }),
    next,
    envelope: async () => JSON.parse((await next()).text ?? 'null'),
    async frame() {
      const { bytes, text } = await next()
      if (!bytes) throw new Error(`Not a frame: ${text}`)
      return { channel: bytes.readUInt32BE(), payload: bytes.subarray(4) }
    },
    closed: closed.promise,
  }
}

export interface Refused {
  status: number
  body: ResponseEnvelope
}

/** The response to an upgrade that must be refused. */
export async function refusedSocket(url: string, options: ClientOptions = {}): Promise<Refused> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), options)
  const answered = Promise.withResolvers<Refused>()
  socket.on('open', () => answered.reject(new Error('The upgrade was accepted.')))
  socket.on('error', answered.reject)
  socket.on('unexpected-response', async (_request, response) => {
    let text = ''
    for await (const chunk of response) text += chunk
    answered.resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) })
  })
  return answered.promise
}
