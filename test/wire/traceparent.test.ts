/** The W3C Trace Context's traceparent, parsed strictly: invalid values are ignored. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeCall as decodeContract } from '../../src/protocols/contract/codec.ts'
import { decodeCall } from '../../src/protocols/opencall/codec.ts'
import { encodeTraceparent, normalizeTraceparent, parseTraceparent } from '../../src/wire/traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
const id = (length: number) => hex(length).filter((digits) => /[^0]/.test(digits))
const context = fc.record({ traceId: id(32), spanId: id(16), flags: fc.nat(255) })

test('every written traceparent is read back unchanged', () => {
  fc.assert(
    fc.property(context, (sent) => {
      const text = encodeTraceparent(sent)
      expect(parseTraceparent(text)).toEqual(sent)
      expect(normalizeTraceparent(text)).toBe(text)
    }),
  )
})

test('of a later version, the known fields and the sampled flag are kept, as version 00', () => {
  const later = fc.integer({ min: 1, max: 254 }).map((version) => version.toString(16).padStart(2, '0'))
  const more = fc.constantFrom('', '-', '-x', '-what-the-future-brings')
  fc.assert(
    fc.property(later, context, more, (version, sent, rest) => {
      const text = encodeTraceparent(sent).replace(/^00/, version) + rest
      const kept = { ...sent, flags: sent.flags & 1 }
      expect(parseTraceparent(text)).toEqual(kept)
      expect(normalizeTraceparent(text)).toBe(encodeTraceparent(kept))
    }),
  )
})

test('one wrong character anywhere makes it no traceparent', () => {
  const wrong = fc.constantFrom('g', 'A', 'F', ' ', '_', '\n', '')
  fc.assert(
    fc.property(context, fc.nat(54), wrong, (sent, at, character) => {
      const text = encodeTraceparent(sent)
      expect(parseTraceparent(text.slice(0, at) + character + text.slice(at + 1))).toBeUndefined()
    }),
  )
})

const invalid: [what: string, text: string | undefined][] = [
  ['nothing', undefined],
  ['an empty text', ''],
  ['version ff', VALID.replace(/^00/, 'ff')],
  ['version 00 with more fields', `${VALID}-x`],
  ['version 00 with a dash at its end', `${VALID}-`],
  ['a later version with more digits', `${VALID.replace(/^00/, '01')}23`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capital letters', VALID.toUpperCase()],
  ['a line end after it', `${VALID}\n`],
  ['a space before it', ` ${VALID}`],
]

test.each(invalid)('%s is not a traceparent, and a call with it has no trace', (_what, text) => {
  expect(parseTraceparent(text)).toBeUndefined()
  expect(normalizeTraceparent(text)).toBeUndefined()
  expect(decodeCall({ op: 'v1:a', args: {}, ctx: {} } as never, 'r1', [], text)).not.toHaveProperty('traceparent')
})

test('the Contract carries the ids alone, and they are read as strictly', () => {
  const request = { requestId: 'r1', attempt: 1, args: {}, terms: {}, taskId: '' } as never
  const traced = (trace_id: string, span_id: string) =>
    decodeContract(request, 'v1:a', { trace_id, span_id }).traceparent

  expect(traced(TRACE, SPAN)).toBe(VALID)
  expect(traced(TRACE, '')).toBeUndefined()
  expect(traced(`${TRACE}-${SPAN}`, SPAN)).toBeUndefined()
  expect(traced('0'.repeat(32), SPAN)).toBeUndefined()
})
