/** The protocols that live on messages, for carriers of messages; and the carrier of lines that this server has itself. */
import type { Readable, Writable } from 'node:stream'
import type { Log } from '../../core/ports/runtime.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import { createOpenCallSessions } from '../../protocols/opencall/index.ts'
import type { ServerOptions } from '../options/options.ts'
import type { Carriers } from './carriers.ts'
import type { Mounting } from './surfaces.ts'

/** A pair of streams that carries one message in each line. */
export interface MessageStreams {
  input: Readable
  output: Writable
  signal: AbortSignal
  /** Says who is at the other end, where the server has authentication. */
  token?: string
}

/** Each opens a session on a connection: give one to a carrier of your own. */
export interface Sessions {
  readonly opencall: OpenSession
  readonly mcp: OpenSession
}

export function createOpenCallSession<App>(options: ServerOptions<App>, mounting: Mounting): OpenSession {
  return createOpenCallSessions({ ...mounting, settings: { strict: options.opencall?.strict ?? false } })
}

export interface LineSettings {
  maxBytes: number
  origin: string
  log: Log
}

/** Resolves when the input has ended and was answered, when the signal aborts, or when the server closes. */
export async function serveStreams(
  open: OpenSession,
  streams: MessageStreams,
  settings: LineSettings,
  carriers: Carriers,
): Promise<void> {
  // Loaded when it is used.
  const { createLineCarrier } = await import('../../carriers/stdio/index.ts')
  const { token, ...pair } = streams
  const { maxBytes, origin, log } = settings
  const shown = token === undefined ? undefined : `Bearer ${token}`
  const peer = { header: (name: string) => (name === 'authorization' ? shown : undefined) }
  const carrier = createLineCarrier(open, { ...pair, peer, origin, limits: { maxBytes }, log })
  await carriers.open(carrier)
  try {
    await carrier.ended
  } finally {
    carriers.remove(carrier)
  }
}
