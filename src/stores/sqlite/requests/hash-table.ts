/**
 * Numbers by hash in typed arrays. A `Map` of the same size took a microsecond of every call, mostly for garbage
 * collection.
 */

const EMPTY = -1
const FIRST_SLOTS = 1_024

export class HashTable {
  #hashes = new Float64Array(FIRST_SLOTS).fill(EMPTY)
  #values = new Float64Array(FIRST_SLOTS)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(hash: number): boolean {
    return this.#hashes[this.#slotOf(hash)] !== EMPTY
  }

  get(hash: number): number | undefined {
    const slot = this.#slotOf(hash)
    return this.#hashes[slot] === EMPTY ? undefined : this.#values[slot]
  }

  set(hash: number, value: number): void {
    const slot = this.#slotOf(hash)
    const isNew = this.#hashes[slot] === EMPTY
    this.#hashes[slot] = hash
    this.#values[slot] = value
    if (isNew && ++this.#size * 2 > this.#hashes.length) this.#grow()
  }

  hashes(): Float64Array {
    return this.#hashes.filter((hash) => hash !== EMPTY)
  }

  /** The slot of the hash, or the empty slot where it would be. At least half of the slots are empty. */
  #slotOf(hash: number): number {
    const last = this.#hashes.length - 1
    let slot = hash & last
    for (let there = this.#hashes[slot]; there !== EMPTY && there !== hash; there = this.#hashes[slot]) {
      slot = (slot + 1) & last
    }
    return slot
  }

  #grow(): void {
    const [hashes, values] = [this.#hashes, this.#values]
    this.#hashes = new Float64Array(hashes.length * 2).fill(EMPTY)
    this.#values = new Float64Array(hashes.length * 2)
    this.#size = 0
    for (const [slot, hash] of hashes.entries()) if (hash !== EMPTY) this.set(hash, values[slot] as number)
  }
}
