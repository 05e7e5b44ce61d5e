/**
 * A map for short-lived entries in a long-lived table. When V8 resizes the table of a `Map`, the old table points to the
 * new one. A full collection moves the current table to the old generation. From then on, each table and what it held
 * when it was replaced outlive their entries until the next full collection, which starts the same again. So this map
 * moves what is left to a new `Map` now and then. No old table points to that one.
 */

/** Renewed less often, a map keeps more; more often, it copies more. 64 costs nothing that can be measured. */
const RENEWED_AFTER = 64

export class BriefMap<V> {
  #entries = new Map<string, V>()
  #deleted = 0

  get size(): number {
    return this.#entries.size
  }

  has(key: string): boolean {
    return this.#entries.has(key)
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: V): void {
    this.#entries.set(key, value)
  }

  /** False if there was no such entry. */
  delete(key: string): boolean {
    if (!this.#entries.delete(key)) return false
    // Never more copies than deletions, however many entries stay.
    if (++this.#deleted >= RENEWED_AFTER + this.#entries.size) {
      this.#entries = new Map(this.#entries)
      this.#deleted = 0
    }
    return true
  }

  /** The oldest key in the map. */
  get first(): string | undefined {
    return this.#entries.keys().next().value
  }

  keys(): string[] {
    return [...this.#entries.keys()]
  }

  values(): V[] {
    return [...this.#entries.values()]
  }
}
