/** Where the readers of a stream connect to this server. docs/readings.md#r28. */
import type { StreamTransport } from '../../core/ports/frames.ts'

export function streamPath(id: string): string {
  return `/streams/${id}`
}

/** A WebSocket on the HTTP port. The reader connects with its ticket, and starts the stream where it arrives. */
export const SOCKET_TRANSPORT: StreamTransport = {
  name: 'wss',
  place: ({ id, origin }) => ({ location: origin.replace(/^http/, 'ws') + streamPath(id) }),
}
