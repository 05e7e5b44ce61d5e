/** Where the readers of a stream connect to this server. docs/readings.md#r28. */
import type { NewStream, StreamPlace, StreamTransport } from '../../core/ports/frames.ts'
import { RECORDS_TYPE } from '../../wire/frames/records.ts'
import { EVENT_STREAM_TYPE } from '../../wire/http/event-stream.ts'

export function streamPath(id: string): string {
  return `/streams/${id}`
}

/** HTTP/3 on a port of its own, at the host at which the caller reached this server. */
export function quicPlace({ id, origin }: Pick<NewStream, 'id' | 'origin'>, port: number): StreamPlace {
  const site = new URL(origin)
  site.protocol = 'https:'
  site.port = String(port)
  return { location: site.href.replace(/\/$/, '') + streamPath(id), details: { accept: RECORDS_TYPE } }
}

/**
 * Server-sent events on the HTTP port, for a server without WebSocket. The list of OpenCALL lacks them:
 * docs/readings.md#r28.
 */
export const EVENTS_TRANSPORT: StreamTransport = {
  name: 'sse',
  place: ({ id, origin }) => ({ location: origin + streamPath(id), details: { accept: EVENT_STREAM_TYPE } }),
}

/** A WebSocket on the HTTP port. The reader connects with its ticket, and starts the stream where it arrives. */
export const SOCKET_TRANSPORT: StreamTransport = {
  name: 'wss',
  place: ({ id, origin }) => ({ location: origin.replace(/^http/, 'ws') + streamPath(id) }),
}
