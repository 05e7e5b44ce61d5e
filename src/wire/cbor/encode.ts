/** Writes a JSON value as CBOR (RFC 8949), with lengths in their shortest form. */
import type { JsonValue } from '../../core/json.ts'

const FIRST_BYTES = 256

/** `reserved` bytes before the value are left zero. */
export function encodeCbor(value: JsonValue, reserved = 0): Uint8Array {
  const writer = new Writer(reserved)
  writer.value(value)
  return writer.bytes()
}

class Writer {
  readonly #text = new TextEncoder()
  #bytes = new Uint8Array(FIRST_BYTES)
  #view = new DataView(this.#bytes.buffer)
  #at: number

  constructor(reserved: number) {
    this.#at = reserved
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#at)
  }

  value(value: JsonValue): void {
    if (value === null) this.#byte(0xf6)
    else if (value === true) this.#byte(0xf5)
    else if (value === false) this.#byte(0xf4)
    else if (typeof value === 'number') this.#number(value)
    else if (typeof value === 'string') this.#string(value)
    else if (Array.isArray(value)) {
      this.#head(4, value.length)
      for (const item of value) this.value(item)
    } else {
      const entries = Object.entries(value)
      this.#head(5, entries.length)
      for (const [key, item] of entries) {
        this.#string(key)
        this.value(item as JsonValue)
      }
    }
  }

  #number(value: number): void {
    // Libraries such as cbor-x read integers of eight bytes as bigints. A float holds them exactly, up to 2^53.
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 32 && !Object.is(value, -0)) {
      if (value >= 0) this.#head(0, value)
      else this.#head(1, -1 - value)
      return
    }
    this.#reserve(9)
    this.#view.setUint8(this.#at, 0xfb)
    this.#view.setFloat64(this.#at + 1, value)
    this.#at += 9
  }

  #string(text: string): void {
    const bytes = this.#text.encode(text)
    this.#head(3, bytes.length)
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** `argument` is below 2^32: no message is that long. */
  #head(major: number, argument: number): void {
    this.#reserve(5)
    const type = major << 5
    if (argument < 24) this.#view.setUint8(this.#at++, type | argument)
    else if (argument < 0x100) {
      this.#view.setUint8(this.#at, type | 24)
      this.#view.setUint8(this.#at + 1, argument)
      this.#at += 2
    } else if (argument < 0x1_0000) {
      this.#view.setUint8(this.#at, type | 25)
      this.#view.setUint16(this.#at + 1, argument)
      this.#at += 3
    } else {
      this.#view.setUint8(this.#at, type | 26)
      this.#view.setUint32(this.#at + 1, argument)
      this.#at += 5
    }
  }

  #byte(byte: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = byte
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + bytes))
    larger.set(this.#bytes)
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }
}
