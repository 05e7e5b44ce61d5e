/** Collects the bytes of one part. It copies them, because a source may reuse its memory, and grows as they arrive. */
import type { Budget } from './budget.ts'

const FIRST_BYTES = 16 * 1024

export class PartBuffer {
  readonly #budget: Budget
  readonly #maxBytes: number
  #memory = Buffer.alloc(0)
  #length = 0

  constructor(budget: Budget, maxBytes: number) {
    this.#budget = budget
    this.#maxBytes = maxBytes
  }

  get isFull(): boolean {
    return this.#length === this.#maxBytes
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  /** Returns how many of the bytes it took. */
  async append(piece: Uint8Array): Promise<number> {
    const taken = Math.min(piece.length, this.#maxBytes - this.#length)
    await this.#grow(this.#length + taken)
    this.#memory.set(piece.subarray(0, taken), this.#length)
    this.#length += taken
    return taken
  }

  release(): void {
    this.#budget.give(this.#memory.length)
    this.#memory = Buffer.alloc(0)
    this.#length = 0
  }

  async #grow(needed: number): Promise<void> {
    const had = this.#memory.length
    if (needed <= had) return
    const size = Math.min(this.#maxBytes, Math.max(FIRST_BYTES, needed, had * 2))
    await this.#budget.take(size - had)
    const memory = Buffer.allocUnsafeSlow(size)
    memory.set(this.bytes)
    this.#memory = memory
  }
}
