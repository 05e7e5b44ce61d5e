/** A gRPC server on node:http2 for unary methods with JSON messages. The protocol defines the methods. */
import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { UnaryMethods } from '../../core/ports/unary.ts'
import { answerStream } from './exchange.ts'
import { createReading, type ReadingLimits } from './reading.ts'

export interface GrpcOptions {
  methods: UnaryMethods
  /** Maximum size of one message. */
  maxBytes: number
  log: Log
  /** PEM. Without it the connection is not encrypted. */
  tls?: { key: string | Uint8Array; cert: string | Uint8Array }
  limits?: Partial<GrpcLimits>
}

export interface GrpcLimits extends ReadingLimits {
  /** How long a connection without activity is kept. */
  idleMs: number
  /** How long the calls of such a connection may take to end after that. */
  closeMs: number
}

export interface GrpcCarrier {
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Accepts no more calls, waits up to `graceMs` for running calls, then closes the remaining connections. */
  close(graceMs?: number): Promise<void>
}

const LIMITS = {
  maxHeaderListPairs: 64,
  maxSessionMemory: 32,
  settings: { maxConcurrentStreams: 100, maxHeaderListSize: 16 * 1024, enablePush: false },
}
const MAX_CONNECTIONS = 10_000
const DEFAULTS: GrpcLimits = {
  readMs: 30_000,
  sessionBytes: 16 * 1024 * 1024,
  totalBytes: 256 * 1024 * 1024,
  idleMs: 300_000,
  closeMs: 30_000,
}

export function createGrpcCarrier({ tls, limits: given, methods, maxBytes, log }: GrpcOptions): GrpcCarrier {
  const limits = { ...DEFAULTS, ...given }
  // A message of the maximum size must fit in any case.
  const sessionBytes = Math.max(limits.sessionBytes, 2 * maxBytes)
  const { readMs, idleMs, closeMs, totalBytes } = limits
  const reading = { readMs, sessionBytes, totalBytes: Math.max(totalBytes, sessionBytes) }
  const exchange = { methods, maxBytes, log, readMs, read: createReading(reading) }
  // Loaded here, so that a server without gRPC does not load it.
  const { createSecureServer, createServer } = process.getBuiltinModule('node:http2')
  const server: Http2Server | Http2SecureServer = tls
    ? createSecureServer({ ...LIMITS, ...buffers(tls), allowHTTP1: false })
    : createServer(LIMITS)
  const sessions = new Set<ServerHttp2Session>()
  const running = new Set<Promise<void>>()
  server.maxConnections = MAX_CONNECTIONS
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    let cut: NodeJS.Timeout | undefined
    session.once('close', () => {
      sessions.delete(session)
      clearTimeout(cut)
    })
    session.setTimeout(idleMs, () => {
      session.close()
      // A stream that its client neither ends nor resets would keep the connection open forever.
      cut ??= setTimeout(() => session.destroy(), closeMs)
    })
    session.on('error', (err) => log.debug({ err }, 'a gRPC connection failed'))
  })
  server.on('sessionError', (err: Error) => log.debug({ err }, 'a gRPC connection failed'))
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
      // Sends GOAWAY to the clients. Each connection closes after its last call.
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
  return new Fault('unavailable', `${host}:${port} ${why}. It is the configured address for gRPC.`, {
    code: inUse ? 'PORT_IN_USE' : 'CANNOT_LISTEN',
    cause: error,
  })
}
