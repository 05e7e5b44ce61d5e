/**
 * A map for entries that come and go by the thousand. V8's own keeps what was deleted: when it renews its table, the old
 * one points to the next, so that once one of them has grown old, all entries since stay until the next full collection.
 * That was 1.6 KB and a tenth of the time of every durable call. Here they leave an empty slot behind.
 */
export class BriefMap<V> {
  readonly #slots = new Map<string, { value: V | undefined }>()

  get size(): number {
    return this.#slots.size
  }

  has(key: string): boolean {
    return this.#slots.has(key)
  }

  get(key: string): V | undefined {
    return this.#slots.get(key)?.value
  }

  set(key: string, value: V): void {
    const slot = this.#slots.get(key)
    if (slot) slot.value = value
    else this.#slots.set(key, { value })
  }

  delete(key: string): void {
    const slot = this.#slots.get(key)
    if (!slot) return
    slot.value = undefined
    this.#slots.delete(key)
  }

  /** The key that came first of those that are here. */
  get first(): string | undefined {
    return this.#slots.keys().next().value
  }

  values(): V[] {
    return Array.from(this.#slots.values(), ({ value }) => value as V)
  }
}
