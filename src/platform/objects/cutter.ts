/** Repacks writes of any size into chunks of one size. It is pure: the cuts depend on the bytes alone. */

export interface Cutter {
  /**
   * Yields full chunks as soon as a byte follows them. A chunk is valid until the next one is requested, because the
   * memory is reused.
   */
  cut(bytes: Uint8Array): Generator<Uint8Array, void, void>
  /** Returns the last chunk. It may be as large as any other, and is empty only if nothing was written. */
  rest(): Uint8Array
}

/** The longest code point in UTF-8. Text chunks are never smaller, so that every code point fits. */
const LONGEST_CODE_POINT = 4

export function createCutter(options: { chunkBytes: number; text: boolean }): Cutter {
  const size = options.text ? Math.max(options.chunkBytes, LONGEST_CODE_POINT) : options.chunkBytes
  const buffer = new Uint8Array(size)
  let filled = 0

  function* cut(bytes: Uint8Array): Generator<Uint8Array, void, void> {
    for (let at = 0; at < bytes.length; ) {
      if (filled === size) {
        const end = options.text && isContinuation(bytes[at]) ? startOfLast(buffer) : size
        yield buffer.subarray(0, end)
        buffer.copyWithin(0, end)
        filled = size - end
      }
      const taken = Math.min(size - filled, bytes.length - at)
      buffer.set(bytes.subarray(at, at + taken), filled)
      filled += taken
      at += taken
    }
  }

  return { cut, rest: () => buffer.subarray(0, filled) }
}

/** Returns the start of the code point that the last byte belongs to. It does not validate UTF-8; the writer does. */
function startOfLast(buffer: Uint8Array): number {
  const earliest = buffer.length - (LONGEST_CODE_POINT - 1)
  for (let at = buffer.length - 1; at >= earliest; at--) {
    if (!isContinuation(buffer[at])) return at
  }
  return buffer.length
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
}
