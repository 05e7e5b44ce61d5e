/** Raw QUIC on a UDP port of its own: each stream of a client is a session, and each stream of frames a QUIC stream. */
import type { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { NewStream, StreamTransport } from '../../core/ports/frames.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import { MAX_IN_FLIGHT } from '../../wire/messages/link.ts'
import { Unread } from './inbox.ts'
import type { QuicLibrary, QuicSession, QuicStream } from './library.ts'
import { RawFrames } from './raw-frames.ts'
import { RawStream } from './raw-stream.ts'
import { cannotListen, type QuicLimits, type QuicTls, quicSettings, requireFree } from './settings.ts'
import { CODE } from './stall.ts'

export interface RawCarrierOptions {
  library: QuicLibrary
  tls: QuicTls
  host: string
  port: number
  /** The name of the protocol, which the client asks for in its handshake. */
  alpn: string
  open: OpenSession
  origin(): string
  /** The first and the last message on a stream of frames. */
  begin(stream: NewStream): string
  end(stream: NewStream, fault?: Fault): string
  maxBytes: number
  limits?: QuicLimits
  /** How long a peer may read nothing of what waits for it. */
  stallTimeoutMs?: number
  /** Time limit for a message that has begun (default: 30,000). */
  bodyTimeoutMs?: number
  log: Log
}

/** Shorter than the shortest idle timeout of common clients, 30 s. */
const PING_EVERY_MS = 10_000

export function createRawCarrier(options: RawCarrierOptions): Carrier<{ host: string; port: number }> {
  const { library, tls, host, port, alpn, limits = {}, log, stallTimeoutMs = 120_000, bodyTimeoutMs = 30_000 } = options
  const server = library.createQuicServer({ ...quicSettings(tls, limits), alpn: [alpn] })
  const unread = new Unread()
  const streams = new Set<RawStream>()
  /** The number of open streams of each connection. */
  const busy = new Map<QuicSession, number>()
  let isClosing = false
  let bound = port
  let pinging: NodeJS.Timeout | undefined

  function track(session: QuicSession, stream: QuicStream): void {
    busy.set(session, (busy.get(session) ?? 0) + 1)
    stream.once('close', () => busy.set(session, (busy.get(session) ?? 1) - 1))
  }

  function framesOn(session: QuicSession): StreamTransport {
    return {
      name: 'quic',
      place: (stream) => ({
        location: `quic://${host.includes(':') ? `[${host}]` : host}:${bound}/streams/${stream.id}`,
        open() {
          const opened = session.openStream()
          opened.on('error', (err) => log.debug({ err }, 'a QUIC stream of frames failed'))
          track(session, opened)
          const end = (fault?: Fault) => options.end(stream, fault)
          return new RawFrames(opened, { begin: options.begin(stream), end, stallTimeoutMs })
        },
      }),
    }
  }

  function serve(session: QuicSession, stream: QuicStream): void {
    if (isClosing) {
      stream.on('error', () => undefined)
      stream.close(CODE.requestRejected)
      return
    }
    track(session, stream)
    const served = new RawStream(stream, {
      open: options.open,
      frames: framesOn(session),
      origin: options.origin(),
      limits: { maxBytes: options.maxBytes, maxInFlight: MAX_IN_FLIGHT },
      unread,
      stallTimeoutMs,
      bodyTimeoutMs,
      log,
    })
    streams.add(served)
    void served.ended.then(() => streams.delete(served))
  }

  server.on('session', (session: QuicSession) => {
    session.on('error', (err) => log.debug({ err }, 'a QUIC connection failed'))
    session.on('close', () => busy.delete(session))
    session.on('stream', (stream: QuicStream) => serve(session, stream))
  })
  server.on('error', (err) => log.error({ err }, 'the QUIC server failed'))

  return {
    async listen() {
      try {
        await requireFree(host, port)
        bound = (await server.listen(port, host)).port
      } catch (thrown) {
        throw cannotListen(thrown, host, port)
      }
      // A client may be silent while it waits for a reply or for the next frame.
      pinging = setInterval(() => {
        for (const [session, open] of busy) if (open > 0) session.ping()
      }, PING_EVERY_MS).unref()
      return { host, port: bound }
    },
    async close(graceMs) {
      if (isClosing) return
      isClosing = true
      clearInterval(pinging)
      await Promise.all([...streams].map((stream) => stream.close(graceMs)))
      await server.close()
    },
  }
}
