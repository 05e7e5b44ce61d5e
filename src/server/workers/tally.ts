/**
 * What was counted since it was last told: calls opened and ended, by owner, and queued. It is told a moment later, and
 * only what is left of it by then: most calls have ended as soon as they began.
 */
import type { Clock } from '../../core/ports/runtime.ts'

/** Far below what a person notices; and a process with nothing to do is woken a hundred times a second at most. */
const DELAY_MS = 10

export type Counts = [open: [owner: string, calls: number][], queued: number]

export class Tally {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #tell: (...counts: Counts) => void
  readonly #open = new Map<string, number>()
  #queued = 0
  #scheduled = false

  constructor(clock: Pick<Clock, 'schedule'>, tell: (...counts: Counts) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  /** Without an owner: in the queue. */
  add(owner: string | undefined, calls: number): void {
    if (owner === undefined) this.#queued += calls
    else this.#open.set(owner, (this.#open.get(owner) ?? 0) + calls)
    if (this.#scheduled) return
    this.#scheduled = true
    this.#clock.schedule(DELAY_MS, () => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const open = [...this.#open].filter(([, calls]) => calls !== 0)
    const queued = this.#queued
    this.#open.clear()
    this.#queued = 0
    if (open.length > 0 || queued !== 0) this.#tell(open, queued)
  }
}
