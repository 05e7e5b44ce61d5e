/** A gRPC server on node:http2 for unary methods with JSON messages. What the methods mean is for the protocol. */
import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports.ts'
import type { UnaryMethods } from '../../core/unary.ts'
import { answerStream } from './exchange.ts'

export interface GrpcOptions {
  methods: UnaryMethods
  /** Of one message. */
  maxBytes: number
  log: Log
  /** PEM; without it the connection is in plain text. */
  tls?: { key: string | Uint8Array; cert: string | Uint8Array }
}

export interface GrpcCarrier {
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Takes no more calls, lets those under way end for so long, then cuts what is left. */
  close(graceMs?: number): Promise<void>
}

const LIMITS = {
  maxHeaderListPairs: 64,
  maxSessionMemory: 32,
  settings: { maxConcurrentStreams: 1_000, maxHeaderListSize: 16 * 1024, enablePush: false },
}
const MAX_CONNECTIONS = 10_000
/** How long a connection without calls is kept. */
const IDLE_MS = 300_000

export function createGrpcCarrier({ tls, ...exchange }: GrpcOptions): GrpcCarrier {
  // Asked for here, so that a server without gRPC does not load it.
  const { createSecureServer, createServer } = process.getBuiltinModule('node:http2')
  const server: Http2Server | Http2SecureServer = tls
    ? createSecureServer({ ...LIMITS, ...buffers(tls), allowHTTP1: false })
    : createServer(LIMITS)
  const sessions = new Set<ServerHttp2Session>()
  const running = new Set<Promise<void>>()
  server.maxConnections = MAX_CONNECTIONS
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.setTimeout(IDLE_MS, () => session.close())
    session.on('error', (err) => exchange.log.debug({ err }, 'a gRPC connection broke'))
  })
  server.on('sessionError', (err: Error) => exchange.log.debug({ err }, 'a gRPC connection broke'))
  server.on('stream', (stream, headers) => {
    const answering = answerStream(stream, headers, exchange)
    running.add(answering)
    void answering.finally(() => running.delete(answering))
  })
  return {
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        const failed = (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port))
        server.once('error', failed)
        server.listen(port, host, () => {
          server.off('error', failed)
          resolve({ host, port: (server.address() as AddressInfo).port })
        })
      }),
    async close(graceMs = 10_000) {
      if (!server.listening) return
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // Says so to the clients, and ends each connection with its last call.
      for (const session of sessions) session.close()
      const cut = setTimeout(() => {
        for (const session of sessions) session.destroy()
      }, graceMs)
      await closed
      await Promise.all(running)
      clearTimeout(cut)
    },
  }
}

function buffers({ key, cert }: NonNullable<GrpcOptions['tls']>) {
  return { key: Buffer.from(key), cert: Buffer.from(cert) }
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Fault {
  const inUse = error.code === 'EADDRINUSE'
  const why = inUse ? 'is in use; choose another port, or stop what listens there' : `cannot be used (${error.code})`
  return new Fault('unavailable', `${host}:${port} ${why}. It was to be the port for gRPC.`, {
    code: inUse ? 'PORT_IN_USE' : 'CANNOT_LISTEN',
    cause: error,
  })
}
