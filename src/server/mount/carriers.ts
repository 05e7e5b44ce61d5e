/** The open carriers of a server. They close together. */
import { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'

export class Carriers {
  readonly #open = new Set<Carrier<unknown>>()
  #isClosed = false

  async open<Where>(carrier: Carrier<Where>): Promise<Where> {
    if (this.#isClosed) throw new Fault('unavailable', 'This server is closed. Create another one.')
    this.#open.add(carrier)
    try {
      return await carrier.listen()
    } catch (thrown) {
      this.#open.delete(carrier)
      throw thrown
    }
  }

  /** For a carrier that ended by itself, such as a pair of streams. */
  remove(carrier: Carrier<unknown>): void {
    this.#open.delete(carrier)
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open].map((carrier) => carrier.close(graceMs)))
  }
}
