/** Hashes of request ids, of 53 bits: a number holds no more exactly. */

export interface HashSeeds {
  a: number
  b: number
}

/** Hashes are from 0 up to, but not including, this number. */
export const HASHES = 2 ** 53

const BITS_32 = 2 ** 32
const LOW_21 = 2 ** 21 - 1

/** Two lanes of multiplications, mixed at the end. */
export function hashRequest({ a: seedA, b: seedB }: HashSeeds, owner: number, requestId: string): number {
  let a = Math.imul(seedA ^ owner, 0x9e3779b1)
  let b = Math.imul(seedB ^ owner, 0x85ebca6b)
  for (let at = 0; at < requestId.length; at++) {
    const unit = requestId.charCodeAt(at)
    a = Math.imul(a ^ unit, 0x9e3779b1) ^ (a >>> 15)
    b = Math.imul(b ^ unit, 0x5f356495) ^ (b >>> 13)
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ b
  b = Math.imul(b ^ (b >>> 15), 0xc2b2ae35) ^ a
  return (b & LOW_21) * BITS_32 + (a >>> 0)
}
