/** The fast path for most replies writes the same text as the general encoder. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonValue } from '../../../src/core/json.ts'
import { encodeReply, encodeResult } from '../../../src/protocols/opencall/codec.ts'

const replies = fc.record(
  {
    requestId: fc.string(),
    state: fc.constant('complete' as const),
    model: fc.constantFrom('sync' as const, 'async' as const),
    result: fc.jsonValue() as fc.Arbitrary<JsonValue>,
    sessionId: fc.string(),
    expiresAt: fc.nat(),
  },
  { requiredKeys: ['requestId', 'state', 'model', 'result'] },
)

test('a result written as text is the envelope of the reply', () => {
  fc.assert(
    fc.property(replies, (reply) => {
      const envelope = encodeReply(reply, () => ({ uri: 'never' }))
      expect(encodeResult(reply)).toBe(JSON.stringify(envelope))
    }),
  )
})
