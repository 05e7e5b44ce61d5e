/** The options of QUIC, checked before anything is opened. */
import { Fault } from '../../core/fault.ts'
import type { TlsOptions } from './tls.ts'

export interface QuicOptions {
  /** Default: 127.0.0.1. Browsers are told of HTTP/3 only on `0.0.0.0` and `::`. docs/adapters/carriers/quic.md. */
  host?: string
  /** The UDP port of HTTP/3. 0 picks a free one. It may have the number of the HTTPS port. */
  port: number
  /** The UDP port of raw QUIC streams, with the ALPN `callplane/1`. Default: none. */
  rawPort?: number
  /** How long a silent connection is kept. Default: 90,000. */
  idleTimeoutMs?: number
  /** Open streams of one connection. Default: 100. */
  streamsPerConnection?: number
}

export function checkQuic({ port, rawPort }: QuicOptions, tls: TlsOptions | undefined): void {
  if (!tls) throw refused('quic needs a certificate, because QUIC is always encrypted. Set tls: { cert, key }.')
  if (!isPort(port)) throw refused('quic.port must be a UDP port: a whole number from 0 to 65535.')
  if (rawPort === undefined) return
  if (!isPort(rawPort)) throw refused('quic.rawPort must be a UDP port: a whole number from 0 to 65535.')
  if (rawPort === port && port !== 0) throw refused('quic.rawPort must be another port than quic.port.')
}

function isPort(port: unknown): boolean {
  return Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
