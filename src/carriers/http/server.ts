/**
 * A node:http or node:https server with limits that are safe for untrusted clients, and a shutdown that finishes pending
 * responses.
 */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { Fault } from '../../core/fault.ts'
import { AWAITS_CONTINUE, type Incoming } from './body.ts'
import { IdleConnections } from './idle-connections.ts'
import type { RequestListener } from './listener.ts'
import type { Upgrades } from './upgrades.ts'

// A named import of node:http also evaluates its `WebSocket` and loads all of undici: 13 MB that are not needed.
const { createServer } = process.getBuiltinModule('node:http')

/** The most connections of a server, if its limits say nothing else. */
export const MAX_CONNECTIONS = 10_000

export interface ServerLimits {
  maxHeaderBytes?: number
  /** Time limit for the head of a request. */
  headersTimeoutMs?: number
  /** How long an idle connection is kept. */
  keepAliveTimeoutMs?: number
  /** Default: 10,000. The server closes further connections immediately. */
  maxConnections?: number
}

/** A certificate chain and its private key, as PEM. */
export interface TlsFiles {
  cert: string | Uint8Array
  key: string | Uint8Array
}

export type WebServer = Server | SecureServer

export function createHttpServer(
  listener: RequestListener,
  limits: ServerLimits = {},
  upgrades?: Upgrades,
  tls?: TlsFiles,
): WebServer {
  const headersTimeout = limits.headersTimeoutMs ?? 10_000
  const settings = {
    maxHeaderSize: limits.maxHeaderBytes ?? 16 * 1024,
    headersTimeout,
    // Bodies have their own time limits: a large upload may take long, but must not be silent.
    requestTimeout: 0,
    // `IdleConnections` does this. 0 is no time limit.
    keepAliveTimeout: 0,
    connectionsCheckingInterval: Math.min(1_000, headersTimeout),
    // An unclaimed upgrade request gets a normal response, because clients also ask for h2c.
    ...(upgrades && { shouldUpgradeCallback: (request: IncomingMessage) => upgrades.accepts(request) }),
  }
  const server: WebServer = tls ? createSecure(settings, tls) : createServer(settings)
  server.maxConnections = limits.maxConnections ?? MAX_CONNECTIONS
  const keepAliveMs = limits.keepAliveTimeoutMs ?? 5_000
  const idle = new IdleConnections(server, keepAliveMs)
  server.on('request', (request, response) => {
    announceKeepAlive(response, keepAliveMs)
    listener(request, response)
  })
  // Without this, Node requests the body before the server can refuse it.
  server.on('checkContinue', (request: Incoming, response) => {
    announceKeepAlive(response, keepAliveMs)
    request[AWAITS_CONTINUE] = true
    listener(request, response)
  })
  server.on('clientError', answerClientError)
  if (upgrades) {
    server.on('upgrade', (request, socket, head) => {
      idle.release(socket)
      upgrades.take(request, socket, head)
    })
  }
  return server
}

/** Node writes the header `Keep-Alive` from this field, which it fills from the server's own `keepAliveTimeout`. */
function announceKeepAlive(response: ServerResponse & { _keepAliveTimeout?: number }, keepAliveMs: number): void {
  response._keepAliveTimeout = keepAliveMs
}

function createSecure(settings: ServerOptions & { headersTimeout: number }, { cert, key }: TlsFiles): SecureServer {
  const https = process.getBuiltinModule('node:https')
  const files = { cert: Buffer.from(cert), key: Buffer.from(key) }
  return https.createServer({ ...settings, ...files, handshakeTimeout: settings.headersTimeout })
}

export interface Listening {
  readonly host: string
  readonly port: number
  readonly url: string
}

export function listen(server: WebServer, { host, port }: { host: string; port: number }): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port))
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      const bound = (server.address() as AddressInfo).port
      const scheme = 'setSecureContext' in server ? 'https' : 'http'
      resolve({ host, port: bound, url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}` })
    })
  })
}

/**
 * Accepts no more connections once `idle` settles, waits for pending responses, and closes what is left after `graceMs`,
 * including upgraded sockets.
 */
export async function closeHttpServer(
  server: WebServer,
  graceMs: number,
  { upgrades, idle = Promise.resolve() }: { upgrades?: Upgrades; idle?: Promise<unknown> } = {},
): Promise<void> {
  if (!server.listening) return
  const [over, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stopListening = () => void server.close(() => closed.resolve())
  // Who waits for the calls hears of their failure.
  const deaf = Promise.race([idle, over.promise]).then(stopListening, stopListening)
  for (const event of ['request', 'checkContinue']) {
    server.prependListener(event, (_request, response: ServerResponse) => response.setHeader('Connection', 'close'))
  }
  // A busy connection becomes idle after its response, and Node has no event for that.
  const sweep = setInterval(() => !server.listening && server.closeIdleConnections(), 20)
  const cut = setTimeout(async () => {
    over.resolve()
    await deaf
    server.closeAllConnections()
    upgrades?.cut()
  }, graceMs)
  await closed.promise
  clearInterval(sweep)
  clearTimeout(cut)
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Fault {
  const place = `${host}:${port}`
  if (error.code === 'EADDRINUSE') {
    return new Fault('unavailable', `${place} is in use; choose another port, or stop what listens there.`, {
      code: 'PORT_IN_USE',
      cause: error,
    })
  }
  return new Fault('unavailable', `Cannot listen on ${place} (${error.code}); choose another host or port.`, {
    code: 'CANNOT_LISTEN',
    cause: error,
  })
}

/** Errors that Node's parser finds before there is a request. No protocol can create these responses. */
const CLIENT_ERRORS: Readonly<Record<string, { status: string; code: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'HEADERS_TOO_LARGE',
    message: 'The request line and headers are too large; send fewer or shorter ones.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    code: 'REQUEST_TIMEOUT',
    message: 'The request did not arrive in time; send it again.',
  },
}

const NOT_HTTP = {
  status: '400 Bad Request',
  code: 'INVALID_REQUEST',
  message: 'This is not a valid HTTP request; check the request line, the headers and the body framing.',
}

function answerClientError(error: NodeJS.ErrnoException, socket: Socket & { _httpMessage?: { _header?: unknown } }) {
  // Same as Node's own handler: the client would read bytes inside another response as part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?._header) {
    socket.destroy()
    return
  }
  const { status, code, message } = CLIENT_ERRORS[error.code ?? ''] ?? NOT_HTTP
  const body = JSON.stringify({ error: { code, message } })
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
