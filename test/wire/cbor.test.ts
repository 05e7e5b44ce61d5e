/** JSON values as CBOR: they come back as they were, another library reads them, and malformed input is refused. */
import { Encoder } from 'cbor-x'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonValue } from '../../src/core/json.ts'
import { decodeCbor } from '../../src/wire/cbor/decode.ts'
import { encodeCbor } from '../../src/wire/cbor/encode.ts'

const others = new Encoder({ useRecords: false, variableMapSize: true })

/** Well-formed text: a lone surrogate has no UTF-8. */
const json = fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' }) as fc.Arbitrary<JsonValue>

test('a value survives the way through CBOR, and another library reads and writes the same', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value)
      expect(JSON.stringify(decodeCbor(encodeCbor(value)))).toBe(text)
      expect(JSON.stringify(decodeCbor(others.encode(JSON.parse(text))))).toBe(text)
      // cbor-x renames the key `__proto__`.
      if (!text.includes('__proto__')) expect(JSON.stringify(others.decode(encodeCbor(value)))).toBe(text)
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  ['00', 0],
  ['1903e8', 1000],
  ['1b001fffffffffffff', Number.MAX_SAFE_INTEGER],
  ['3b001ffffffffffffe', -Number.MAX_SAFE_INTEGER],
  ['f93c00', 1],
  ['f90001', 2 ** -24],
  ['fa47c35000', 100000],
  ['f98000', -0],
  ['62c3bc', 'ü'],
  ['a1695f5f70726f746f5f5f01', { ['__proto__']: 1 }],
])('%s is read as RFC 8949 says', (hex, value) => {
  expect(JSON.stringify(decodeCbor(Buffer.from(hex, 'hex')))).toBe(JSON.stringify(value))
})

test.each([
  ['nothing', ''],
  ['a lone break code', 'ff'],
  ['bytes after the end', '0000'],
  ['an early end', '6261'],
  ['a length beyond the message', '7b0000ffffffffffff61'],
  ['an array that claims 2^32 items', '9affffffff'],
  ['a map that claims 2^53 pairs', 'bb001fffffffffffff'],
  ['an indefinite length', '9f01ff'],
  ['a byte string', '4101'],
  ['a tag', 'c11a514b67b0'],
  ['undefined', 'f7'],
  ['an unassigned simple value', 'f820'],
  ['a reserved length', '1c'],
  ['not a number', 'f97e00'],
  ['infinity', 'fa7f800000'],
  ['a number that is not exact', '1b0020000000000000'],
  ['a negative number that is not exact', '3b001fffffffffffff'],
  ['a key that is a number', 'a10102'],
  ['a key twice', 'a2616101616102'],
  ['text that is not UTF-8', '61ff'],
  ['100,000 nested arrays', '81'.repeat(100_000)],
])('%s is refused', (_title, hex) => {
  expect(() => decodeCbor(Buffer.from(hex, 'hex'))).toThrow(expect.objectContaining({ code: 'INVALID_CBOR' }))
})

test('random bytes are read or refused with a fault', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        JSON.stringify(decodeCbor(bytes))
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'INVALID_CBOR' })
      }
    }),
  )
})
