/**
 * The last changes of one tenant, in the order in which they arrived. They have numbers of their own, so that a cursor
 * does not count the changes of other tenants. A loss of this process counts for all tenants.
 */
import type { Noted } from './change.ts'

export interface Heard {
  events: Noted[]
  next: string
  /** Changes may have been missed. */
  reset?: true
}

const MOST_KEPT = 5_000
const MOST_EVENTS = 200
/** How much later a change of another process can arrive. */
const LATE_MS = 5_000

interface Entry {
  seq: number
  arrivedAt: number
  noted: Noted
}

export interface ChangeRingParts {
  /** No other ring of any process has this name. */
  name: string
  now(): number
  /** Up to this time all changes of other processes are here. */
  completeUntil(): number
}

export class ChangeRing {
  readonly #parts: ChangeRingParts
  /** All changes after the one with the number `#goneSeq`. Their numbers follow each other. */
  #entries: Entry[] = []
  #seq = 0
  /** Up to this number, and up to this time, changes may be missing. */
  #goneSeq = 0
  #goneAt: number

  constructor(parts: ChangeRingParts) {
    this.#parts = parts
    this.#goneAt = parts.now()
  }

  /** The number of the last change. */
  get end(): number {
    return this.#seq
  }

  lose(): void {
    // A number of its own, so that a cursor from before differs.
    this.#goneSeq = ++this.#seq
    this.#goneAt = this.#parts.now()
    this.#entries = []
  }

  add(noted: Noted): void {
    this.#entries.push({ seq: ++this.#seq, arrivedAt: this.#parts.now(), noted })
    if (this.#entries.length <= 2 * MOST_KEPT) return
    // Removing many at once is cheaper than one each time.
    const gone = this.#entries.at(-MOST_KEPT - 1) as Entry
    this.#goneSeq = gone.seq
    this.#goneAt = gone.arrivedAt
    this.#entries = this.#entries.slice(-MOST_KEPT)
  }

  /** `undefined` if changes may have been missed. A cursor of another process stands for a time. */
  placeOf(cursor: string): number | undefined {
    const [name, number = '', time = ''] = cursor.split('.')
    if (name === this.#parts.name) {
      const seq = Number(number)
      return seq >= this.#goneSeq && seq <= this.#seq ? seq : undefined
    }
    // Within this time, the two processes may have heard of changes in another order. Some are then told twice.
    const from = Number(time) - LATE_MS
    if (!Number.isSafeInteger(from) || from <= this.#goneAt) return undefined
    const first = this.#entries.find(({ arrivedAt }) => arrivedAt >= from)
    return first ? first.seq - 1 : this.#seq
  }

  since(seq: number, passes: (noted: Noted) => boolean): Heard {
    if (seq < this.#goneSeq) return this.lookAgain()
    const events: Noted[] = []
    for (let at = seq - this.#goneSeq; at < this.#entries.length; at++) {
      const { noted, seq: last, arrivedAt } = this.#entries[at] as Entry
      if (!passes(noted)) continue
      events.push(noted)
      if (events.length >= MOST_EVENTS) return { events, next: this.#cursor(last, arrivedAt) }
    }
    return { events, next: this.#cursor(this.#seq) }
  }

  /**
   * What has come since the loss is told next. If it is much, the lists have it already when they are read again. The
   * time is that of now, because the lists are read after it. With that of the loss, two processes that lost changes at
   * the same time would refuse each other's cursors for ever.
   */
  lookAgain(): Heard {
    const isMuch = this.#entries.length > MOST_EVENTS
    return { events: [], next: this.#cursor(isMuch ? this.#seq : this.#goneSeq), reset: true }
  }

  /** `at`: when the change with this number arrived. Other processes go by the time. */
  #cursor(seq: number, at = this.#parts.now()): string {
    const { name, completeUntil } = this.#parts
    return `${name}.${seq}.${Math.min(at, completeUntil())}`
  }
}
