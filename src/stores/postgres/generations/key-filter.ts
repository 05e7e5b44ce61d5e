/**
 * A Bloom filter of the keys of a closed generation: rules out most keys that are not in it. Keys are 128 bits of a
 * hash, so their own bits serve as hashes. All bits of a key are in one block of 64 bytes, so that a lookup reads one
 * line of the processor's cache.
 */

/** With 3 bytes for a key, one of ten thousand absent keys is not ruled out. */
export const KEY_BYTES = 3
const BLOCK_BYTES = 64
const BLOCK_WORDS = BLOCK_BYTES / 4
/** Bits that choose one of the 512 bits of a block. */
const PLACE = 9
const PLACES = [0, PLACE, 2 * PLACE]

export class KeyFilter {
  readonly #words: Uint32Array
  readonly #blocks: number

  /** More keys than expected fit, but fewer are ruled out. */
  constructor(keys: number) {
    this.#blocks = Math.max(1, Math.ceil((keys * KEY_BYTES) / BLOCK_BYTES))
    this.#words = new Uint32Array(this.#blocks * BLOCK_WORDS)
  }

  get bytes(): number {
    return this.#words.byteLength
  }

  /** Keys of 16 bytes, one after the other. */
  addAll(keys: Buffer): void {
    for (let at = 0; at < keys.length; at += 16) {
      const block = this.#blockOf(keys.readUInt32BE(at))
      for (const word of [4, 8]) this.#set(block, keys.readUInt32BE(at + word))
    }
  }

  mayHave({ block: chosen, first, second }: FilterKey): boolean {
    const block = this.#blockOf(chosen)
    return this.#has(block, first) && this.#has(block, second)
  }

  #blockOf(word: number): number {
    return Math.floor((word / 2 ** 32) * this.#blocks) * BLOCK_WORDS
  }

  #set(block: number, word: number): void {
    for (const from of PLACES) {
      const bit = (word >>> from) & 511
      const at = block + (bit >>> 5)
      this.#words[at] = (this.#words[at] as number) | (1 << (bit & 31))
    }
  }

  #has(block: number, word: number): boolean {
    for (const from of PLACES) {
      const bit = (word >>> from) & 511
      if (((this.#words[block + (bit >>> 5)] as number) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }
}

/** The parts of a key that filters use, each with 32 bits. */
export interface FilterKey {
  block: number
  first: number
  second: number
}

/** `key` has 32 hex digits. */
export function filterKeyOf(key: string): FilterKey {
  return { block: wordOf(key, 0), first: wordOf(key, 8), second: wordOf(key, 16) }
}

function wordOf(key: string, at: number): number {
  return Number.parseInt(key.slice(at, at + 8), 16)
}
