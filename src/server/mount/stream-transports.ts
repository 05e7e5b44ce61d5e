/** The transports on which streams of this server can be read. The first is preferred. */
import type { StreamTransport, StreamTransports } from '../../core/ports/frames.ts'

export class OpenTransports implements StreamTransports {
  readonly #byName = new Map<string, StreamTransport>()

  /** Every transport is added before the server starts: the registry names them. */
  add(transport: StreamTransport): void {
    this.#byName.set(transport.name, transport)
  }

  get(name: string): StreamTransport | undefined {
    return this.#byName.get(name)
  }

  names(): readonly string[] {
    return [...this.#byName.keys()]
  }
}
