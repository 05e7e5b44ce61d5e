/** A result written directly as text has the same bytes as the encoded object. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonValue } from '../../../src/core/json.ts'
import { encodeValue } from '../../../src/protocols/rest/codec.ts'

const TRACE = '0191d3c0-0000-7000-8000-000000000000'

const value = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '\n', '\u2028', '</script>', '😀', { content: ['x'] }, { content: [], page: 1 }, []),
) as fc.Arbitrary<JsonValue>

/** MCP, "CallToolResult", for a value that is none itself. */
function resultOf(given: JsonValue) {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  return {
    content: [{ type: 'text', text: typeof given === 'string' ? given : JSON.stringify(given) }],
    ...(typeof given !== 'string' && { structuredContent: isObject ? given : { result: given } }),
    isError: false,
    _meta: { _trace_id: TRACE },
  }
}

test('a value as text is what its object would be', () => {
  fc.assert(
    fc.property(value, (given) => {
      expect(encodeValue(given, TRACE)).toBe(JSON.stringify(resultOf(given)))
    }),
  )
})

test('a result that an operation made itself is never taken for a success', () => {
  expect(encodeValue({ content: [], isError: true }, TRACE)).toMatchObject({
    isError: true,
    _meta: { _trace_id: TRACE },
  })
})
