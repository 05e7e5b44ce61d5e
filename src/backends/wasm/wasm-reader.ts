/** Reads the parts of the WebAssembly binary format that limiting a module's memory needs. */
import { Fault } from '../../core/fault.ts'

/** `\0asm`, then version 1 for a core module. A component has another version. */
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]
/** Reference types followed by a type index: `(ref null t)` and `(ref t)`. */
const TYPED_REFERENCES = [0x63, 0x64]
const U32_BYTES = 5

export class WasmReader {
  readonly whole: Uint8Array
  #at = 0

  constructor(whole: Uint8Array) {
    this.whole = whole
  }

  get done(): boolean {
    return this.#at === this.whole.length
  }

  header(): Uint8Array {
    if (HEADER.some((byte, at) => this.whole[at] !== byte)) throw notAModule()
    return this.bytes(HEADER.length)
  }

  byte(): number {
    const byte = this.whole[this.#at++]
    if (byte === undefined) throw notAModule()
    return byte
  }

  bytes(length: number): Uint8Array {
    if (length > this.whole.length - this.#at) throw notAModule()
    this.#at += length
    return this.whole.subarray(this.#at - length, this.#at)
  }

  /** LEB128. Multiplies instead of shifting: with a shift the fifth byte would change the sign. */
  u32(): number {
    let value = 0
    for (let at = 0; at < U32_BYTES; at++) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** (7 * at)
      if (byte < 0x80 && value <= 0xffff_ffff) return value
    }
    throw notAModule()
  }

  /** Returns the bytes of one value type. */
  valueType(): Uint8Array {
    const start = this.#at
    if (TYPED_REFERENCES.includes(this.byte())) while (this.byte() >= 0x80);
    return this.whole.subarray(start, this.#at)
  }

  valueTypes(): void {
    for (let count = this.u32(); count > 0; count--) this.valueType()
  }
}

export function encodeLeb(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  do {
    const low = rest % 0x80
    rest = Math.floor(rest / 0x80)
    bytes.push(rest > 0 ? low + 0x80 : low)
  } while (rest > 0)
  return bytes
}

function notAModule(): Fault {
  return new Fault(
    'policy-invalid',
    'The file in backend.module is not a valid WebAssembly module. Build it for WASI preview 1, not as a component.',
  )
}
