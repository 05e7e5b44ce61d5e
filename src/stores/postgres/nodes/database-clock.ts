/**
 * Follows the clock of the database server between readings of it. It never runs backwards: a small correction is spread
 * over time, and only a large one forward is made at once. See docs/decisions/0016-the-stores-clock.md.
 */
import type { Clock, Log } from '../../../core/ports/runtime.ts'

export interface DatabaseClockOptions {
  clock: Pick<Clock, 'monotonicMs'>
  log: Log | undefined
}

/** A larger difference means that the server's clock was set, or that another server has taken over. */
const CORRECTION_MS = 1_000
/** How much of the passed time a correction may add or take away. */
const SLEW = 0.1

export class DatabaseClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #log: Log | undefined
  /** The difference to the monotonic clock, as it is used and as it was last measured. */
  #aheadMs: number | undefined
  #measuredMs = 0
  #sinceMs = 0
  #last = 0
  /** When `#last` was computed. Within a millisecond it stays the same. */
  #lastMs = Number.NaN

  constructor({ clock, log }: DatabaseClockOptions) {
    this.#clock = clock
    this.#log = log
  }

  /**
   * Reads the server's clock. The reading belongs to the middle of the time that the question took. After a slow answer
   * this is too vague to set the clock by, so the reading is left out, except for the first one.
   */
  async measure(read: () => Promise<number>): Promise<void> {
    const askedMs = this.#clock.monotonicMs()
    const serverMs = await read()
    const answeredMs = this.#clock.monotonicMs()
    if (this.#aheadMs !== undefined && answeredMs - askedMs > CORRECTION_MS) return
    this.#take(serverMs - (askedMs + answeredMs) / 2)
  }

  now(): number {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs === this.#lastMs) return this.#last
    const aheadMs = this.#slew(nowMs)
    this.#lastMs = nowMs
    this.#last = Math.max(this.#last, Math.floor(nowMs + aheadMs))
    return this.#last
  }

  /** How far this clock runs ahead of the server's, which was set back. It runs slower until the two agree. */
  get aheadOfServerMs(): number {
    return this.#aheadMs === undefined ? 0 : this.#slew(this.#clock.monotonicMs()) - this.#measuredMs
  }

  #take(measuredMs: number): void {
    const aheadMs = this.#aheadMs === undefined ? measuredMs : this.#slew(this.#clock.monotonicMs())
    const stepMs = Math.round(measuredMs - aheadMs)
    this.#measuredMs = measuredMs
    this.#aheadMs = stepMs > CORRECTION_MS ? measuredMs : aheadMs
    this.#sinceMs = this.#clock.monotonicMs()
    this.#lastMs = Number.NaN
    if (Math.abs(stepMs) <= CORRECTION_MS) return
    this.#log?.warn({ stepMs }, 'the clock of the database server was set; leases and expiries follow it')
  }

  #slew(nowMs: number): number {
    if (this.#aheadMs === undefined) return 0
    const passedMs = nowMs - this.#sinceMs
    this.#sinceMs = nowMs
    const mostMs = passedMs * SLEW
    const missingMs = this.#measuredMs - this.#aheadMs
    this.#aheadMs += Math.max(-mostMs, Math.min(mostMs, missingMs))
    return this.#aheadMs
  }
}
