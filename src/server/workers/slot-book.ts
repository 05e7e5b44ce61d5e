/** Who has how many slots of which operation, over all worker processes, and who waits for the next one. */

/** One for each worker; told of a slot that is kept for it. */
export interface SlotHolder {
  kept(operation: string): void
}

interface Page {
  taken: number
  most: number
  holders: Map<SlotHolder, number>
  /** In the order they came, each once. */
  waiting: Set<SlotHolder>
}

export class SlotBook {
  readonly #pages = new Map<string, Page>()

  enter(holder: SlotHolder, operation: string, most: number, waits: boolean): boolean {
    const page = this.#page(operation)
    page.most = most
    // Those who wait for queued calls come first.
    if (page.taken < most && page.waiting.size === 0) {
      this.#take(page, holder)
      return true
    }
    if (waits) page.waiting.add(holder)
    return false
  }

  /** For a call that runs in any case. */
  entered(holder: SlotHolder, operation: string): void {
    this.#take(this.#page(operation), holder)
  }

  leave(holder: SlotHolder, operation: string): void {
    const page = this.#page(operation)
    this.#give(page, holder, 1)
    this.#pass(operation, page)
  }

  /** Its process has ended. */
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
