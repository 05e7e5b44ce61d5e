/**
 * Counts not reported yet: calls opened and ended, by caller, and queued. It reports the net change after a delay,
 * because most calls end soon after they begin.
 */
import type { Clock } from '../ports/runtime.ts'
import { type OwnerCount, OwnerCounts } from './owner-counts.ts'
import type { SlotOwner } from './slot-shares.ts'

export type Counts = [open: OwnerCount[], queued: number]

export class Tally {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #delayMs: number
  readonly #tell: (...counts: Counts) => void
  readonly #open = new OwnerCounts()
  #queued = 0
  #scheduled = false

  constructor(clock: Pick<Clock, 'schedule'>, delayMs: number, tell: (...counts: Counts) => void) {
    this.#clock = clock
    this.#delayMs = delayMs
    this.#tell = tell
  }

  /** Without a caller, counts queued calls. */
  add(who: SlotOwner | undefined, calls: number): void {
    if (who === undefined) this.#queued += calls
    else this.#open.add(who, calls)
    if (this.#scheduled) return
    this.#scheduled = true
    this.#clock.schedule(this.#delayMs, () => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const open = this.#open.list()
    const queued = this.#queued
    this.#open.clear()
    this.#queued = 0
    if (open.length > 0 || queued !== 0) this.#tell(open, queued)
  }
}
