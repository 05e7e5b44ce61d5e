/** The limits of QUIC connections, and the faults when a server cannot be opened. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { Fault } from '../../core/fault.ts'
import type { QuicSettings } from './library.ts'

export interface QuicLimits {
  /** How long a silent connection is kept (default: 90,000). Longer than a client may wait for a response. */
  idleTimeoutMs?: number
  /** Open streams of one connection (default: 100). */
  streamsPerConnection?: number
  /** Default: 10,000. */
  maxConnections?: number
}

export interface QuicTls {
  cert: string | Uint8Array
  key: string | Uint8Array
}

export function quicSettings({ cert, key }: QuicTls, limits: QuicLimits): QuicSettings {
  return {
    cert: Buffer.from(cert),
    key: Buffer.from(key),
    // The server keeps no state for a client that has not proved its address.
    disableRetry: false,
    maxIdleTimeoutMs: limits.idleTimeoutMs ?? 90_000,
    initialMaxData: 8 * 1024 * 1024,
    initialMaxStreamDataBidiLocal: 1024 * 1024,
    initialMaxStreamsBidi: limits.streamsPerConnection ?? 100,
    maxConnections: limits.maxConnections ?? 10_000,
  }
}

/**
 * True if Chromium can keep an HTTP/3 connection to this address. Chromium announces that it takes packets of at most 1,472
 * bytes, and closes the connection when it gets one of 1,473. The library sends probes of growing and shrinking sizes to
 * find the largest packet that arrives. Version 0.9.0 ignores the limit of the client, and replaces its own option
 * `maxUdpPayloadSize`: the largest probe has 1,472 bytes on a wildcard address and 16,383 on any other, because Linux
 * reports the MTU of loopback for all addresses of the machine. The search then reaches 1,473 after about twelve probes.
 */
export function suitsBrowsers(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** The library can bind a port that another process uses. Each of them would then get some of the packets. */
export async function requireFree(host: string, port: number): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  try {
    socket.bind({ port, address: host, exclusive: true })
    await once(socket, 'listening')
  } finally {
    socket.close()
  }
}

export function cannotListen(cause: unknown, host: string, port: number): Fault {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `Cannot open QUIC on ${host}:${port} (UDP): ${reason}. Choose another host or port, or check that the package has a binary for this platform.`
  return new Fault('unavailable', message, { code: 'CANNOT_LISTEN', cause })
}
