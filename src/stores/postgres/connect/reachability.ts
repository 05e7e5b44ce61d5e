/**
 * Whether the database can be reached. Once no connection can be opened, it is down: writes are refused at once, and a
 * probe tries to connect with growing delays until it succeeds.
 */
import type { Fault } from '../../../core/fault.ts'
import type { Log } from '../../../core/ports/runtime.ts'
import { unavailable } from './failures.ts'

export interface ReachabilityParts {
  /** Opens a connection, or throws. */
  probe(): Promise<void>
  /** Called when the state changes. */
  changed(): void
  log: Log | undefined
  /** For logs, without the login. */
  shown: string
}

const FIRST_DELAY_MS = 50
const MAX_DELAY_MS = 2_000

export class Reachability {
  readonly #parts: ReachabilityParts
  #fault: Fault | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false

  constructor(parts: ReachabilityParts) {
    this.#parts = parts
  }

  /** Set while the database is down. */
  get fault(): Fault | undefined {
    return this.#fault
  }

  failed(err: unknown): void {
    if (this.#fault || this.#ended) return
    const { log, shown, changed } = this.#parts
    this.#fault = unavailable(err)
    log?.error({ err, database: shown }, 'the database cannot be reached; calls are refused until it can')
    this.#probe(FIRST_DELAY_MS)
    changed()
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  #probe(delayMs: number): void {
    const { probe, changed, log, shown } = this.#parts
    // Unlike a timer of the engine's clock, it fires in tests with a clock that stands still.
    this.#timer = setTimeout(async () => {
      try {
        await probe()
      } catch {
        if (!this.#ended) this.#probe(Math.min(MAX_DELAY_MS, delayMs * 2))
        return
      }
      if (this.#ended) return
      this.#fault = undefined
      log?.info({ database: shown }, 'the database can be reached again')
      changed()
    }, delayMs)
    this.#timer.unref()
  }
}
