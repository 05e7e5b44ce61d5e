/** Writes a response to the socket. It also handles unread request bodies and disconnected clients. */
import type { ServerResponse } from 'node:http'
import type { Answer } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { NodeExchange } from './node-exchange.ts'

export interface SendSettings {
  readonly stallTimeoutMs: number
  readonly log: Log | undefined
}

/**
 * How much of an unread body is discarded, and for how long, so that the client can read the response before the close.
 */
const LINGER_BYTES = 1 << 20
const LINGER_MS = 500

/** Throws if the headers cannot be sent. Then nothing has been sent yet. */
export function send(
  exchange: NodeExchange,
  answer: Answer,
  extraHeaders: readonly string[],
  settings: SendSettings,
): void {
  const { response } = exchange
  const { status, body } = answer
  if (response.destroyed) {
    if (isIterable(body)) abandon(body[Symbol.asyncIterator](), settings.log)
    return
  }
  const length = lengthOf(body)
  const headers = flatHeaders(answer, length, extraHeaders)
  const unread = bodyOutstanding(exchange)
  if (unread) headers.push('Connection', 'close')
  if (isIterable(body)) {
    response.writeHead(status, headers)
    if (exchange.method === 'HEAD') {
      abandon(body[Symbol.asyncIterator](), settings.log)
      response.end()
    } else void pump(response, body, settings)
    return
  }
  response.writeHead(status, headers)
  if (unread) {
    // The length is stated, so the client has the whole response before the response is ended below.
    if (body === undefined || body.length === 0 || exchange.method === 'HEAD') response.flushHeaders()
    else response.write(body)
    linger(exchange)
  } else {
    // Only ASCII has as many bytes in UTF-8 as characters. Node writes it faster with the `latin1` encoding.
    if (typeof body === 'string' && body.length === length) response.end(body, 'latin1')
    else response.end(body)
    // Set only for responses that do not fit into the socket's buffer: on every connection it cost a timer per request.
    // Node closes the connection after this time without progress. Slow progress counts as progress.
    if (response.writableLength > 0) limitStall(response, settings.stallTimeoutMs)
  }
}

/** The limit ends with the response: a later request on this connection may wait longer for its own. */
function limitStall(response: ServerResponse, stallTimeoutMs: number): void {
  const { socket } = response
  if (!socket) return
  socket.setTimeout(stallTimeoutMs)
  // Before Node's own listener, which may set the time limit for an idle connection.
  response.prependOnceListener('finish', () => socket.setTimeout(0))
}

/** True if part of the body has not been delivered. At the request event this is true even for a small body. */
export function bodyOutstanding({ request, bodyTaken }: NodeExchange): boolean {
  if (bodyTaken || request.complete) return false
  const length = request.headers['content-length']
  if (length !== undefined) return request.readableLength !== Number(length)
  return request.headers['transfer-encoding'] !== undefined
}

function isIterable(body: Answer['body']): body is AsyncIterable<Uint8Array | string> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** In bytes. `undefined` for a streamed body. */
function lengthOf(body: Answer['body']): number | undefined {
  if (body === undefined) return 0
  return isIterable(body) ? undefined : Buffer.byteLength(body)
}

/** node:http handles a flat list with the least work. */
function flatHeaders({ status, headers }: Answer, length: number | undefined, extra: readonly string[]): string[] {
  const flat: string[] = []
  for (const name in headers) {
    const value = headers[name] as string
    if (length !== undefined && name.length === 14 && name.toLowerCase() === 'content-length') continue
    flat.push(name, value)
  }
  if (length !== undefined && status !== 204 && status !== 304) flat.push('Content-Length', String(length))
  for (const text of extra) flat.push(text)
  return flat
}

/**
 * Closing while the client still sends would reset the connection, and the client might not read the response. So the
 * rest of the body is discarded for a moment first. A client that reads the response stops sending.
 */
function linger({ request, response }: NodeExchange): void {
  let left = LINGER_BYTES
  const discard = (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) close()
  }
  const close = () => {
    clearTimeout(timer)
    request.off('data', discard).off('end', close).off('close', close).pause()
    response.end()
  }
  const timer = setTimeout(close, LINGER_MS)
  request.on('data', discard).once('end', close).once('close', close)
}

async function pump(
  response: ServerResponse,
  body: AsyncIterable<Uint8Array | string>,
  { stallTimeoutMs, log }: SendSettings,
): Promise<void> {
  // The client would read bytes beyond the stated length as the next response on this connection.
  response.strictContentLength = true
  const iterator = body[Symbol.asyncIterator]()
  const left = () => abandon(iterator, log)
  response.once('close', left)
  response.flushHeaders()
  try {
    for (;;) {
      const step = await iterator.next()
      if (response.destroyed) return
      if (step.done) break
      if (!response.write(step.value)) await drained(response, stallTimeoutMs)
    }
    response.off('close', left)
    response.end()
  } catch (error) {
    // The head has been sent, so only closing the connection can show that the response is incomplete.
    if (!response.destroyed) log?.error({ err: error }, 'a response failed while it was being sent')
    response.destroy()
  }
}

/** Resolves when the client has read the written bytes, has disconnected, or has read nothing for `stallTimeoutMs`. */
function drained(response: ServerResponse, stallTimeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      response.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(() => response.destroy(), stallTimeoutMs)
    response.on('drain', done).on('close', done)
  })
}

function abandon(iterator: AsyncIterator<unknown>, log: Log | undefined): void {
  Promise.resolve(iterator.return?.()).catch((error: unknown) => {
    log?.warn({ err: error }, 'could not close the source of a response')
  })
}
