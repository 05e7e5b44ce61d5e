/** Tracks slots per operation across all worker processes: which worker holds how many, and which workers wait. */

/** One for each worker. `kept` notifies it of a slot that is reserved for it. */
export interface SlotHolder {
  kept(operation: string): void
}

interface Page {
  taken: number
  most: number
  holders: Map<SlotHolder, number>
  /** In order of arrival, without duplicates. */
  waiting: Set<SlotHolder>
}

export class SlotBook {
  readonly #pages = new Map<string, Page>()

  enter(holder: SlotHolder, operation: string, most: number, waits: boolean): boolean {
    const page = this.#page(operation)
    page.most = most
    // Workers that wait for queued calls come first.
    if (page.taken < most && page.waiting.size === 0) {
      this.#take(page, holder)
      return true
    }
    if (waits) page.waiting.add(holder)
    return false
  }

  /** For a call that runs regardless of the limit. */
  entered(holder: SlotHolder, operation: string): void {
    this.#take(this.#page(operation), holder)
  }

  leave(holder: SlotHolder, operation: string): void {
    const page = this.#page(operation)
    this.#give(page, holder, 1)
    this.#pass(operation, page)
  }

  /** Releases all slots of a worker that has ended. */
  leaveAll(holder: SlotHolder): void {
    for (const [operation, page] of this.#pages) {
      page.waiting.delete(holder)
      this.#give(page, holder, page.holders.get(holder) ?? 0)
      this.#pass(operation, page)
    }
  }

  #page(operation: string): Page {
    const page = this.#pages.get(operation) ?? { taken: 0, most: 0, holders: new Map(), waiting: new Set() }
    this.#pages.set(operation, page)
    return page
  }

  #take(page: Page, holder: SlotHolder): void {
    page.taken++
    page.holders.set(holder, (page.holders.get(holder) ?? 0) + 1)
  }

  #give(page: Page, holder: SlotHolder, count: number): void {
    const left = (page.holders.get(holder) ?? 0) - count
    page.taken -= count
    if (left > 0) page.holders.set(holder, left)
    else page.holders.delete(holder)
  }

  #pass(operation: string, page: Page): void {
    for (const next of page.waiting) {
      if (page.taken >= page.most) return
      page.waiting.delete(next)
      this.#take(page, next)
      next.kept(operation)
    }
    if (page.taken === 0) this.#pages.delete(operation)
  }
}
