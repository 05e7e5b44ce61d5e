/**
 * Reads a JSON value from CBOR (RFC 8949) of a stranger. It is strict: lengths are stated, keys are text and differ, and
 * nothing is left over. Depth is bounded, and no length is believed before its bytes are there. The library for frames
 * is not used here: it accepts a lone break code, and renames some keys.
 */
import { Fault } from '../../core/fault.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'

const MAX_DEPTH = 64

export function decodeCbor(bytes: Uint8Array): JsonValue {
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.left > 0) throw invalid('has bytes after its end')
  return value
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  value(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw invalid(`is nested deeper than ${MAX_DEPTH} levels`)
    const head = this.#view.getUint8(this.#take(1))
    const info = head & 0x1f
    switch (head >> 5) {
      case 0:
        return this.#argument(info)
      case 1:
        return this.#negative(info)
      case 3:
        return this.#string(info)
      case 4:
        return this.#array(info, depth)
      case 5:
        return this.#map(info, depth)
      case 7:
        return this.#simple(info)
      case 2:
        throw invalid('has a byte string; send bytes as base64 text')
      default:
        throw invalid('has a tag; JSON has none')
    }
  }

  #argument(info: number): number {
    if (info < 24) return info
    switch (info) {
      case 24:
        return this.#view.getUint8(this.#take(1))
      case 25:
        return this.#view.getUint16(this.#take(2))
      case 26:
        return this.#view.getUint32(this.#take(4))
      case 27: {
        const value = Number(this.#view.getBigUint64(this.#take(8)))
        if (!Number.isSafeInteger(value)) throw invalid('has a number that JSON cannot hold exactly')
        return value
      }
      default:
        throw invalid('has an item of indefinite length; state every length')
    }
  }

  #negative(info: number): number {
    const value = -1 - this.#argument(info)
    if (!Number.isSafeInteger(value)) throw invalid('has a number that JSON cannot hold exactly')
    return value
  }

  #string(info: number): string {
    const length = this.#argument(info)
    const start = this.#take(length)
    try {
      return this.#text.decode(this.#bytes.subarray(start, start + length))
    } catch (cause) {
      throw invalid('has text that is not UTF-8', cause)
    }
  }

  #array(info: number, depth: number): JsonValue[] {
    const count = this.#count(info, 1)
    const items: JsonValue[] = []
    for (let index = 0; index < count; index++) items.push(this.value(depth + 1))
    return items
  }

  #map(info: number, depth: number): JsonObject {
    const count = this.#count(info, 2)
    // Without a prototype, so that the key `__proto__` is a key like any other.
    const map: JsonObject = Object.create(null)
    for (let index = 0; index < count; index++) {
      const head = this.#view.getUint8(this.#take(1))
      if (head >> 5 !== 3) throw invalid('has a key that is not text')
      const key = this.#string(head & 0x1f)
      if (Object.hasOwn(map, key)) throw invalid('has a key twice')
      map[key] = this.value(depth + 1)
    }
    return map
  }

  /** Every item has at least one byte, so a larger count is a lie. */
  #count(info: number, bytesPerItem: number): number {
    const count = this.#argument(info)
    if (count * bytesPerItem > this.left) throw endsEarly()
    return count
  }

  #simple(info: number): JsonValue {
    switch (info) {
      case 20:
        return false
      case 21:
        return true
      case 22:
        return null
      case 25:
        return finite(halfFloat(this.#view.getUint16(this.#take(2))))
      case 26:
        return finite(this.#view.getFloat32(this.#take(4)))
      case 27:
        return finite(this.#view.getFloat64(this.#take(8)))
      default:
        throw invalid('has a value that JSON has not, such as undefined')
    }
  }

  /** Returns where the bytes begin. */
  #take(length: number): number {
    const start = this.#at
    if (length > this.left) throw endsEarly()
    this.#at += length
    return start
  }
}

/** RFC 8949, "Half-Precision". */
function halfFloat(half: number): number {
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  const sign = half & 0x8000 ? -1 : 1
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (fraction + 1024) * 2 ** (exponent - 25)
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value
  throw invalid('has a number that is not finite')
}

function endsEarly(): Fault {
  return invalid('ends early')
}

function invalid(problem: string, cause?: unknown): Fault {
  return new Fault('malformed', `The message is no CBOR that can be an envelope: it ${problem}.`, {
    code: 'INVALID_CBOR',
    ...(cause !== undefined && { cause }),
  })
}
