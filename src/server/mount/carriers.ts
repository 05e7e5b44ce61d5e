/** The open carriers of a server. They close together. */
import { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { Log } from '../../core/ports/runtime.ts'

export class Carriers {
  readonly #log: Log
  readonly #open = new Set<Carrier<unknown>>()
  #isClosed = false

  constructor(log: Log) {
    this.#log = log
  }

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

  /** Never rejects: the store must be closed even if a carrier cannot be. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open].map((carrier) => this.#closeOne(carrier, graceMs)))
  }

  async #closeOne(carrier: Carrier<unknown>, graceMs: number): Promise<void> {
    try {
      await carrier.close(graceMs)
    } catch (err) {
      this.#log.error({ err }, 'could not close a carrier; the server closes without it')
    }
  }
}
