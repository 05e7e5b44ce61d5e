/** Simulated time: events in the order of their times, in microseconds. Nothing waits for a real clock. */

interface Event {
  atUs: number
  order: number
  run(): void
}

export class Timeline {
  nowUs = 0
  #order = 0
  /** A binary heap: the earliest event is the first. */
  readonly #events: Event[] = []

  after(delayUs: number, run: () => void): void {
    const events = this.#events
    let at = events.push({ atUs: this.nowUs + delayUs, order: this.#order++, run }) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  /** Runs all events up to this time. */
  runUntil(untilUs: number): void {
    for (;;) {
      const first = this.#events[0]
      if (!first || first.atUs > untilUs) break
      this.#removeFirst()
      this.nowUs = first.atUs
      first.run()
    }
    this.nowUs = untilUs
  }

  #removeFirst(): void {
    const events = this.#events
    const last = events.pop() as Event
    if (events.length === 0) return
    events[0] = last
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let least = at
      if (left < events.length && this.#isBefore(left, least)) least = left
      if (right < events.length && this.#isBefore(right, least)) least = right
      if (least === at) return
      this.#swap(at, least)
      at = least
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#events[one] as Event, this.#events[other] as Event]
    return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order)
  }

  #swap(one: number, other: number): void {
    const events = this.#events
    const kept = events[one] as Event
    events[one] = events[other] as Event
    events[other] = kept
  }
}
