/** A heap of values by time, the earliest first. */
export class DueHeap<T> {
  readonly #entries: { at: number; of: T }[] = []

  get first(): { at: number; of: T } | undefined {
    return this.#entries[0]
  }

  push(at: number, of: T): void {
    const entries = this.#entries
    const entry = { at, of }
    let place = entries.push(entry) - 1
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = entries[above] as { at: number; of: T }
      if (parent.at <= at) break
      entries[place] = parent
      place = above
    }
    entries[place] = entry
  }

  pop(): void {
    const entries = this.#entries
    const last = entries.pop()
    if (!last || entries.length === 0) return
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      const [left, right] = [entries[below], entries[below + 1]]
      if (!left) break
      if (right && right.at < left.at) below++
      const least = entries[below] as { at: number; of: T }
      if (least.at >= last.at) break
      entries[place] = least
      place = below
    }
    entries[place] = last
  }
}
