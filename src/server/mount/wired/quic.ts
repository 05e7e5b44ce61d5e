/** QUIC: HTTP/3 with all routes and with streams, and raw streams on a port of their own. */
import { createHttp3Carrier, createRawCarrier, loadQuicLibrary, suitsBrowsers } from '../../../carriers/quic/index.ts'
import type { Carrier } from '../../../core/ports/carrier.ts'
import { encodeStreamBegin, encodeStreamEnd, quicPlace } from '../../../protocols/opencall/index.ts'
import type { Base } from '../../build/base.ts'
import { requireProtection } from '../../options/loopback.ts'
import type { ServerOptions } from '../../options/options.ts'
import type { QuicOptions } from '../../options/quic.ts'
import type { TlsOptions } from '../../options/tls.ts'
import type { WiredCarrier, WiredParts } from './wired.ts'

const ALPN = 'callplane/1'

const NOT_FOR_BROWSERS =
  'not announcing HTTP/3 to browsers, because Chromium cannot use it at a single address; listen on 0.0.0.0 or ::'

type Opened = Carrier<{ host: string; port: number }>

export function prepareQuic<App>(quic: QuicOptions, options: ServerOptions<App>, base: Base): WiredCarrier {
  const { host = '127.0.0.1', rawPort } = quic
  const tls = options.tls as TlsOptions
  requireProtection(host, options.auth)
  const library = loadQuicLibrary()
  const limits = {
    ...(quic.idleTimeoutMs !== undefined && { idleTimeoutMs: quic.idleTimeoutMs }),
    ...(quic.streamsPerConnection !== undefined && { streamsPerConnection: quic.streamsPerConnection }),
  }
  const shared = { library, tls, host, limits }
  let port = quic.port
  let isOpen = false

  function openHttp3({ routes, site }: WiredParts): Opened {
    return createHttp3Carrier({ ...shared, port, routes, http: site, shared: base.worker !== undefined })
  }

  /** The library cannot share this port between processes, so one worker has it. */
  function openRaw({ env, sizes, session, origin }: WiredParts): Opened | undefined {
    if (rawPort === undefined || (base.worker ?? 1) !== 1) return undefined
    return createRawCarrier({
      ...shared,
      port: rawPort,
      alpn: ALPN,
      open: session(),
      origin,
      begin: encodeStreamBegin,
      end: ({ requestId }, fault) => encodeStreamEnd(requestId, fault),
      maxBytes: sizes.envelopeBytes,
      log: env.log,
    })
  }

  return {
    name: 'quic',
    transport: { name: 'quic', place: (stream) => quicPlace(stream, port) },
    // Browsers learn from it that this site speaks HTTP/3. RFC 7838.
    altSvc: () => (isOpen && suitsBrowsers(host) ? `h3=":${port}"; ma=3600` : undefined),
    state: () => (isOpen ? { connected: true } : { connected: false, detail: 'The UDP port is closed.' }),
    open(parts) {
      const { log } = parts.env
      const http3 = openHttp3(parts)
      const raw = openRaw(parts)
      return {
        async listen() {
          const listening = await http3.listen()
          port = listening.port
          log.info({ ...listening }, 'serving HTTP/3')
          if (!suitsBrowsers(host)) log.info({ host }, NOT_FOR_BROWSERS)
          try {
            if (raw) log.info({ ...(await raw.listen()), alpn: ALPN }, 'serving raw QUIC streams')
          } catch (thrown) {
            await http3.close(0)
            throw thrown
          }
          isOpen = true
        },
        async close(graceMs) {
          isOpen = false
          await Promise.all([http3.close(graceMs), raw?.close(graceMs)])
        },
      }
    },
  }
}
