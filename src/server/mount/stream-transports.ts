/** The transports on which streams of this server can be read. The first is preferred. */
import type { StreamTransport, StreamTransports } from '../../core/ports/frames.ts'
import type { WiredCarrier } from './wired/index.ts'

export class OpenTransports implements StreamTransports {
  readonly #byName = new Map<string, StreamTransport>()
  /** Readers connect to the HTTP port over it: as WebSocket, or as server-sent events on a server without WebSocket. */
  readonly onHttp: StreamTransport

  constructor(wired: readonly WiredCarrier[], socket: StreamTransport, events: StreamTransport) {
    for (const { transport } of wired) if (transport) this.#byName.set(transport.name, transport)
    this.onHttp = this.get(socket.name) ?? events
    this.#byName.set(this.onHttp.name, this.onHttp)
  }

  get(name: string): StreamTransport | undefined {
    return this.#byName.get(name)
  }

  names(): readonly string[] {
    return [...this.#byName.keys()]
  }
}
