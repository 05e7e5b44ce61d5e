/** Arrays in Postgres's binary format, for the hand-written limit. */

const TEXT = 25
const UUID = 2950
const HEADER_BYTES = 20
const UUID_BYTES = 16

export function uuidArray(values: readonly Buffer[]): Buffer {
  const array = begin(HEADER_BYTES + values.length * (4 + UUID_BYTES), UUID, values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    at = array.writeInt32BE(UUID_BYTES, at)
    value.copy(array, at)
    at += UUID_BYTES
  }
  return array
}

export function textArray(values: readonly string[]): Buffer {
  let bytes = HEADER_BYTES
  for (const value of values) bytes += 4 + Buffer.byteLength(value)
  const array = begin(bytes, TEXT, values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    const written = array.write(value, at + 4)
    array.writeInt32BE(written, at)
    at += 4 + written
  }
  return array
}

/** One dimension, no nulls, the first index being 1. */
function begin(bytes: number, type: number, length: number): Buffer {
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(0, 4)
  array.writeInt32BE(type, 8)
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16)
  return array
}
