/**
 * Arrays as parameters, in Postgres's binary format. A batch of rows is one array for each column. Text arrays, which
 * the driver would make, must be quoted and parsed: they reach 0.72 of this rate.
 */

const OIDS = { bool: 16, int8: 20, int4: 23, text: 25, uuid: 2950 } as const

export type ElementType = keyof typeof OIDS
/** A uuid is 32 lower-case hex digits, with or without dashes. */
export type Element = string | number | boolean | null

const HEADER_BYTES = 20
/** Up to this length, a loop is faster than a call of native code. */
const SHORT = 48
const DASH = 45
const TWO_TO_32 = 2 ** 32

export function encodeArray(type: ElementType, values: readonly Element[]): Buffer {
  if (values.length === 0) return encodeHeader(Buffer.alloc(12), type, 0, false)
  let bytes = HEADER_BYTES
  let hasNull = false
  // By index: an iterator makes an object for each value.
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as Element
    bytes += 4 + byteLength(type, value)
    hasNull ||= value === null
  }
  const array = encodeHeader(Buffer.allocUnsafe(bytes), type, values.length, hasNull)
  let at = HEADER_BYTES
  for (let index = 0; index < values.length; index++) at = writeElement(array, at, type, values[index] as Element)
  return array
}

function encodeHeader(array: Buffer, type: ElementType, length: number, hasNull: boolean): Buffer {
  array.writeInt32BE(length === 0 ? 0 : 1, 0)
  array.writeInt32BE(hasNull ? 1 : 0, 4)
  array.writeInt32BE(OIDS[type], 8)
  if (length === 0) return array
  array.writeInt32BE(length, 12)
  // The first index.
  array.writeInt32BE(1, 16)
  return array
}

function byteLength(type: ElementType, value: Element): number {
  if (value === null) return 0
  switch (type) {
    case 'text':
      return isShortAscii(value as string) ? (value as string).length : Buffer.byteLength(value as string)
    case 'uuid':
      return 16
    case 'int8':
      return 8
    case 'int4':
      return 4
    case 'bool':
      return 1
  }
}

/** Returns the place after the element. */
function writeElement(array: Buffer, at: number, type: ElementType, value: Element): number {
  if (value === null) return array.writeInt32BE(-1, at)
  const from = at + 4
  let end = from
  switch (type) {
    case 'text':
      end += writeText(array, from, value as string)
      break
    case 'uuid':
      end += writeUuid(array, from, value as string)
      break
    case 'int8':
      end += writeWhole(array, from, value as number)
      break
    case 'int4':
      end = array.writeInt32BE(value as number, from)
      break
    case 'bool':
      end = array.writeUInt8(value ? 1 : 0, from)
      break
  }
  array.writeInt32BE(end - from, at)
  return end
}

function isShortAscii(text: string): boolean {
  if (text.length > SHORT) return false
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false
  return true
}

/** The three below return the bytes that they wrote. */
function writeText(array: Buffer, from: number, text: string): number {
  if (!isShortAscii(text)) return array.write(text, from, 'utf8')
  for (let at = 0; at < text.length; at++) array[from + at] = text.charCodeAt(at)
  return text.length
}

function writeUuid(array: Buffer, from: number, text: string): number {
  let at = 0
  for (let byte = 0; byte < 16; byte++) {
    if (text.charCodeAt(at) === DASH) at++
    array[from + byte] = (digitOf(text.charCodeAt(at)) << 4) | digitOf(text.charCodeAt(at + 1))
    at += 2
  }
  return 16
}

/** `0` to `9` and `a` to `f`. */
function digitOf(code: number): number {
  return code <= 57 ? code - 48 : code - 87
}

/** A number holds whole numbers of 53 bits. Splitting one is faster than a BigInt. */
function writeWhole(array: Buffer, from: number, value: number): number {
  const high = Math.floor(value / TWO_TO_32)
  array.writeInt32BE(high, from)
  array.writeUInt32BE(value - high * TWO_TO_32, from + 4)
  return 8
}
