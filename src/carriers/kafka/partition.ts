/**
 * Chooses the partition of a key as Java's client does, so that readers find it. The library's function returns the same
 * number, but calculates with BigInt.
 */
const SEED = 0x9747b28c
const MULTIPLIER = 0x5bd1e995

/** The producer divides it by the number of partitions, and uses the rest. */
export function partitionOf(key: Uint8Array | undefined): number {
  return key ? murmur2(key) & 0x7fffffff : 0
}

function murmur2(key: Uint8Array): number {
  const { length } = key
  const whole = length & ~3
  let hash = SEED ^ length
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(wordAt(key, at, 4), MULTIPLIER)
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER)
    hash = Math.imul(hash, MULTIPLIER) ^ word
  }
  if (whole < length) hash = Math.imul(hash ^ wordAt(key, whole, length - whole), MULTIPLIER)
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER)
  return hash ^ (hash >>> 15)
}

/** The first bytes are the least significant ones. */
function wordAt(key: Uint8Array, start: number, count: number): number {
  let word = 0
  for (let byte = 0; byte < count; byte++) word |= (key[start + byte] as number) << (8 * byte)
  return word
}
