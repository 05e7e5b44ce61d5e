/**
 * The part of @currentspace/http3 that this carrier uses. The package is an optional peer, so its types are written down
 * here and not imported.
 */
import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import type { Duplex } from 'node:stream'
import { Fault } from '../../core/fault.ts'

export interface QuicStream extends Duplex {
  readonly id: number
  /** Resets both directions of the stream. */
  close(code?: number): void
}

/** Names are in lower case. A field that was sent several times is a list. */
export type FieldMap = Record<string, string | string[]>

export interface Http3Stream extends QuicStream {
  respond(headers: FieldMap): void
  /** Also ends the stream. */
  respondWithBody(headers: FieldMap, body: Buffer | string): void
}

export interface QuicSession extends EventEmitter {
  openStream(): QuicStream
  close(code?: number, reason?: string): void
  ping(): boolean
}

interface Address {
  address: string
  port: number
}

export interface Http3Server extends EventEmitter {
  listen(port: number, host: string): this
  address(): Address | null
  close(): Promise<void>
}

export interface QuicServer extends EventEmitter {
  listen(port: number, host: string): Promise<Address>
  close(): Promise<void>
}

export interface QuicSettings {
  key: Buffer
  cert: Buffer
  disableRetry: boolean
  maxIdleTimeoutMs: number
  initialMaxData: number
  initialMaxStreamDataBidiLocal: number
  initialMaxStreamsBidi: number
  maxConnections: number
}

export interface QuicLibrary {
  createSecureServer(
    settings: QuicSettings & { metricsIntervalMs: number; reusePort: boolean },
    onStream: (stream: Http3Stream, headers: FieldMap, flags: { endStream: boolean }) => void,
  ): Http3Server
  createQuicServer(settings: QuicSettings & { alpn: string[] }): QuicServer
}

const PACKAGE = '@currentspace/http3'

export function loadQuicLibrary(): QuicLibrary {
  try {
    return createRequire(import.meta.url)(PACKAGE)
  } catch (cause) {
    throw new Fault('malformed', `QUIC needs the package ${PACKAGE}. Install it: npm install ${PACKAGE}`, {
      code: 'PACKAGE_MISSING',
      cause,
    })
  }
}
