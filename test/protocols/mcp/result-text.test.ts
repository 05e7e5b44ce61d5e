/** A tool result written as text has the same bytes as the encoded object. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonValue } from '../../../src/core/json.ts'
import { completed, encodeValue, encodeValueText } from '../../../src/protocols/mcp/codec.ts'
import { encodeResult, ResultText } from '../../../src/protocols/mcp/rpc.ts'

const values = fc.jsonValue() as fc.Arbitrary<JsonValue>
const generations = fc.constantFrom('stateless' as const, 'initialized' as const)
const ids = fc.oneof(fc.string({ unit: 'binary' }), fc.integer())

test('a value written as text is the response of the encoded object', () => {
  fc.assert(
    fc.property(ids, values, generations, (id, value, generation) => {
      const text = encodeValueText(value, generation) as string
      const result = completed(encodeValue(value, generation), generation)

      expect(encodeResult(id, new ResultText(text))).toBe(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }),
  )
})

test.each([
  [{ content: [{ type: 'text', text: 'hello' }] }],
  [{ content: [], isError: true }],
  [undefined as unknown as JsonValue],
])('%j is left to the encoder of objects', (value) => {
  expect(encodeValueText(value, 'stateless')).toBeUndefined()
})
