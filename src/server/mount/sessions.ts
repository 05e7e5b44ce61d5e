/** The message-based protocols, for carriers of messages, and the server's own line carrier. */
import type { Log } from '../../core/ports/runtime.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import { createOpenCallSessions, type OpenCallSessionSettings } from '../../protocols/opencall/index.ts'
import type { MessageStreams } from '../callplane-server.ts'
import type { ServerOptions } from '../options/options.ts'
import type { Carriers } from './carriers.ts'
import type { Mounting } from './surfaces.ts'

export function createOpenCallSession<App>(
  options: ServerOptions<App>,
  mounting: Mounting,
  settings: Omit<OpenCallSessionSettings, 'strict'> = {},
): OpenSession {
  const parts = { ...mounting, settings: { ...settings, strict: options.opencall?.strict ?? false } }
  const open = createOpenCallSessions(parts)
  return (connection) => {
    const { identified } = connection
    if (!identified) return open(connection)
    return createOpenCallSessions({ ...parts, identify: noting(mounting.identify, identified) })(connection)
  }
}

/** Also reports that a caller was identified. */
function noting(identify: Mounting['identify'], identified: () => void): Mounting['identify'] {
  return (presented) => {
    const find = identify(presented)
    return async () => {
      const caller = await find()
      if (caller) identified()
      return caller
    }
  }
}

export interface LineSettings {
  maxBytes: number
  origin: string
  log: Log
}

/**
 * Resolves when the input has ended and every message has its response, when the signal aborts, or when the server
 * closes.
 */
export async function serveStreams(
  open: OpenSession,
  streams: MessageStreams,
  settings: LineSettings,
  carriers: Carriers,
): Promise<void> {
  // Loaded on first use.
  const { createLineCarrier } = await import('../../carriers/stdio/index.ts')
  const { token, signal = new AbortController().signal, ...pair } = streams
  const { maxBytes, origin, log } = settings
  const shown = token === undefined ? undefined : `Bearer ${token}`
  const peer = { header: (name: string) => (name === 'authorization' ? shown : undefined) }
  const carrier = createLineCarrier(open, { ...pair, signal, peer, origin, limits: { maxBytes }, log })
  await carriers.open(carrier)
  try {
    await carrier.ended
  } finally {
    carriers.remove(carrier)
  }
}
