/** HTTP/3 on a UDP port, as a carrier that opens and closes with the others. */
import { EventEmitter, once } from 'node:events'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { Route } from '../../core/ports/exchange.ts'
import { createHttp3Handler, type Http3Options } from './http3-handler.ts'
import type { Http3Server, Http3Stream, QuicLibrary } from './library.ts'
import { cannotListen, type QuicLimits, type QuicTls, quicSettings, requireFree } from './settings.ts'
import { CODE, within } from './stall.ts'

export interface Http3CarrierOptions {
  library: QuicLibrary
  tls: QuicTls
  host: string
  port: number
  routes: readonly Route[]
  http: Http3Options
  limits?: QuicLimits
  /** True if other processes listen on the same port. */
  shared?: boolean
}

/** The last packets need a moment to arrive: closing a connection discards what is under way. */
const LINGER_MS = 200

export function createHttp3Carrier(options: Http3CarrierOptions): Carrier<{ host: string; port: number }> {
  const { library, tls, host, port, limits = {}, shared = false } = options
  const { log } = options.http
  const handle = createHttp3Handler(options.routes, options.http)
  const open = new Set<Http3Stream>()
  let isClosing = false
  let idle = () => {}
  const settings = { ...quicSettings(tls, limits), metricsIntervalMs: 0, reusePort: shared }
  const server = library.createSecureServer(settings, (stream, fields) => {
    if (isClosing) {
      stream.on('error', () => undefined)
      stream.close(CODE.requestRejected)
      return
    }
    open.add(stream)
    const done = () => {
      open.delete(stream)
      if (open.size === 0) idle()
    }
    stream.on('finish', done).on('close', done)
    handle(stream, fields)
  })
  withoutTcp(server)
  server.on('session', (session: EventEmitter) => {
    session.on('error', (err) => log?.debug({ err }, 'an HTTP/3 connection failed'))
  })

  return {
    async listen() {
      try {
        if (!shared) await requireFree(host, port)
        server.listen(port, host)
        await once(server, 'listening')
      } catch (thrown) {
        throw cannotListen(thrown, host, port)
      }
      server.on('error', (err) => log?.error({ err }, 'the HTTP/3 server failed'))
      return { host, port: server.address()?.port ?? port }
    },
    async close(graceMs) {
      if (isClosing) return
      isClosing = true
      const wasBusy = open.size > 0
      if (wasBusy) await within(graceMs, new Promise<void>((resolve) => (idle = resolve)))
      if (wasBusy && graceMs > 0) await within(LINGER_MS, new Promise(() => {}))
      for (const stream of open) stream.close(CODE.requestRejected)
      await server.close()
    },
  }
}

/**
 * The library also opens the TCP port of the same number, for HTTP/2. That port belongs to the HTTPS server, and has its
 * limits there. There is no option to switch it off, so the method that makes the TCP server is replaced. If a later
 * version has no such method, the port is opened.
 */
function withoutTcp(server: Http3Server): void {
  const hook = server as unknown as { _createH2Server?: () => EventEmitter }
  if (typeof hook._createH2Server === 'function') hook._createH2Server = () => new NoServer()
}

class NoServer extends EventEmitter {
  listen(_port: number, _host: string, listening: () => void): void {
    listening()
  }

  close(closed: () => void): void {
    closed()
  }

  unref(): void {}
}
