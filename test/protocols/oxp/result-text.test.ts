/** The fast path for most results writes the same text as the general encoder. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonValue } from '../../../src/core/json.ts'
import { encodeReply, encodeResult } from '../../../src/protocols/oxp/codec.ts'

const results = fc.oneof(fc.constant(undefined), fc.jsonValue() as fc.Arbitrary<JsonValue>)

test('a result written as text is the response of the reply', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), results, (callId, duration, result) => {
      const reply = { requestId: 'r', state: 'complete' as const, model: 'sync' as const, result: result as JsonValue }
      const response = encodeReply(reply, callId, duration, { repeatable: true, locate: () => ({ uri: 'never' }) })

      expect(encodeResult(reply, callId, duration)).toBe(JSON.stringify(response))
    }),
  )
})
