/** OpenCALL's request envelope: every valid one is read, and every error names the invalid field. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import { decodeCall, decodeCursor, encodeCursor } from '../../src/protocols/opencall/codec.ts'
import { parseEnvelope, requestIdIn } from '../../src/protocols/opencall/envelope.ts'
import { preferredWaitMs } from '../../src/protocols/opencall/http/prefer.ts'

const text = fc.string({ minLength: 1, maxLength: 256, unit: 'binary-ascii' })
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue)
const source = fc.oneof(fc.record({ ref: fc.webUrl() }), fc.record({ part: fc.string({ minLength: 1 }) }))
const media = fc
  .tuple(fc.record({ name: text, mimeType: fc.constant('image/png') }), source)
  .map(([entry, where]): JsonObject => ({ ...entry, ...where }))
const ctx = fc.record(
  {
    requestId: fc.stringMatching(/^[A-Za-z0-9._~:-]{1,128}$/),
    sessionId: text,
    parentId: text,
    idempotencyKey: text,
    timeoutMs: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    locale: text,
    traceparent: fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
  },
  { requiredKeys: [] },
)
const auth = fc.record(
  { iss: text, sub: text, credentialType: text, credential: text },
  { requiredKeys: ['iss', 'sub', 'credentialType'] },
)
const envelopes = fc.record(
  { op: fc.string(), args: fc.dictionary(fc.string(), json), media: fc.array(media, { maxLength: 3 }), ctx, auth },
  { requiredKeys: ['op'] },
) as fc.Arbitrary<JsonObject>

/** Fields that a client of tomorrow, or one with a typing mistake, may send. */
const strangers = fc.dictionary(
  fc.stringMatching(/^x[a-z]{3,8}$/).filter((key) => key !== 'xop'),
  json,
)

test('a valid envelope is read as it was sent, and its credential is in no call', () => {
  fc.assert(
    fc.property(envelopes, (envelope) => {
      const parsed = parseEnvelope(envelope, false)

      expect(parsed).toEqual({
        op: envelope.op,
        args: envelope.args ?? {},
        media: envelope.media ?? [],
        ctx: envelope.ctx ?? {},
        ...(envelope.auth !== undefined && { auth: envelope.auth }),
      })
      expect(decodeCall(parsed, 'r-1', [], undefined)).not.toHaveProperty('auth')
      expect(requestIdIn(envelope)).toBe((envelope.ctx as JsonObject | undefined)?.requestId)
    }),
  )
})

test('unknown fields change nothing, at the top and in ctx', () => {
  fc.assert(
    fc.property(envelopes, strangers, (envelope, unknown) => {
      const more = {
        ...unknown,
        ...envelope,
        ...(envelope.ctx && { ctx: { ...unknown, ...(envelope.ctx as JsonObject) } }),
      }

      expect(parseEnvelope(more as JsonObject, false)).toEqual(parseEnvelope(envelope, false))
    }),
  )
})

const ENTRY = { name: 'photo', mimeType: 'image/png', part: 'p1' }
const TEXTS = ['sessionId', 'parentId', 'idempotencyKey', 'locale', 'traceparent']

/** Each field, the values it takes no offence at (by type), and an envelope with the value in its place. */
const FIELDS: readonly [field: string, fits: (value: JsonValue) => boolean, put: (value: JsonValue) => JsonObject][] = [
  ['op', isText, (op) => ({ op })],
  ['args', isObject, (args) => ({ op: 'v1:a', args })],
  ['media', Array.isArray, (entries) => ({ op: 'v1:a', media: entries })],
  ['media[1]', isObject, (entry) => ({ op: 'v1:a', media: [ENTRY, entry] })],
  ['media[0].name', isText, (name) => ({ op: 'v1:a', media: [{ ...ENTRY, name }] })],
  ['media[0].mimeType', isText, (mimeType) => ({ op: 'v1:a', media: [{ ...ENTRY, mimeType }] })],
  ['media[0].part', isText, (part) => ({ op: 'v1:a', media: [{ ...ENTRY, part }] })],
  ['media[0].ref', isText, (ref) => ({ op: 'v1:a', media: [{ name: 'a', mimeType: 'image/png', ref }] })],
  ['ctx', isObject, (value) => ({ op: 'v1:a', ctx: value })],
  ['ctx.requestId', isText, (requestId) => ({ op: 'v1:a', ctx: { requestId } })],
  ['ctx.timeoutMs', (value) => typeof value === 'number', (timeoutMs) => ({ op: 'v1:a', ctx: { timeoutMs } })],
  ...TEXTS.map((field): (typeof FIELDS)[number] => [
    `ctx.${field}`,
    isText,
    (value) => ({ op: 'v1:a', ctx: { [field]: value } }),
  ]),
  ['auth', isObject, (value) => ({ op: 'v1:a', auth: value })],
  ['auth.sub', isText, (sub) => ({ op: 'v1:a', auth: { iss: 'i', sub, credentialType: 'bearer' } })],
]

test.each(FIELDS)('%s of a wrong type is refused by its name', (field, fits, put) => {
  const wrong = fc
    .oneof(json, fc.constantFrom<JsonValue>(null, true, 0, 'text', [], {}))
    .filter((value) => !fits(value))
  fc.assert(
    fc.property(wrong, (value) => {
      expect(refusalOf(put(value))).toMatchObject({ kind: 'malformed', details: { field } })
    }),
    { numRuns: 50 },
  )
})

test.each([
  ['an empty text', { ctx: { sessionId: '' } }, 'ctx.sessionId'],
  ['a text of 257 characters', { ctx: { idempotencyKey: 'k'.repeat(257) } }, 'ctx.idempotencyKey'],
  ['a request id with a slash', { ctx: { requestId: 'a/b' } }, 'ctx.requestId'],
  ['a request id of 129 characters', { ctx: { requestId: 'a'.repeat(129) } }, 'ctx.requestId'],
  ['a negative time', { ctx: { timeoutMs: -1 } }, 'ctx.timeoutMs'],
  ['a reference that is no URI', { media: [{ name: 'a', mimeType: 'b/c', ref: 'photo.png' }] }, 'media[0].ref'],
  ['both ref and part', { media: [{ ...ENTRY, ref: 'https://a.example/' }] }, 'media[0]'],
  ['neither ref nor part', { media: [{ name: 'a', mimeType: 'b/c' }] }, 'media[0]'],
  ['101 attachments', { media: Array.from({ length: 101 }, () => ENTRY) }, 'media'],
])('%s is refused by its name', (_what, rest, field) => {
  expect(refusalOf({ op: 'v1:a', ...rest })).toMatchObject({ kind: 'malformed', details: { field } })
})

test.each([[null], [[]], [0], ['v1:a'], [true]])('%j is no envelope', (value) => {
  expect(refusalOf(value)).toMatchObject({ kind: 'malformed' })
})

test('strict mode takes UUIDs only and wants one wherever there is a ctx', () => {
  const id = '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'

  expect(parseEnvelope({ op: 'v1:a', ctx: { requestId: id } }, true).ctx.requestId).toBe(id)
  expect(parseEnvelope({ op: 'v1:a' }, true).ctx).toEqual({})
  expect(refusalOf({ op: 'v1:a', ctx: {} }, true)).toMatchObject({ details: { field: 'ctx.requestId' } })
  expect(refusalOf({ op: 'v1:a', ctx: { requestId: 'r1' } }, true)).toMatchObject({
    details: { field: 'ctx.requestId' },
  })
})

test('a call carries what the envelope said, and a trace only if it is one', () => {
  fc.assert(
    fc.property(envelopes, (envelope) => {
      const parsed = parseEnvelope(envelope, false)
      const { timeoutMs, requestId: _own, ...rest } = parsed.ctx

      const call = decodeCall(parsed, 'r1', [])

      const { op: operation, args } = parsed
      const wait = timeoutMs === undefined ? {} : { waitMs: timeoutMs }
      expect(call).toEqual({ operation, args, media: [], requestId: 'r1', ...rest, ...wait })
    }),
  )
  const odd = decodeCall({ op: 'v1:a', args: {}, media: [], ctx: { traceparent: 'not a trace' } }, 'r1', [])
  expect(odd).not.toHaveProperty('traceparent')
})

test('a cursor is read back as the chunk it stands for, and is safe in an address', () => {
  fc.assert(
    fc.property(fc.nat(), (index) => {
      const cursor = encodeCursor(index)

      expect(decodeCursor(cursor)).toBe(index)
      expect(encodeURIComponent(cursor)).toBe(cursor)
    }),
  )
  expect(decodeCursor(undefined)).toBe(0)
})

test('any other text is no cursor', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.constantFrom('', 'c', '0', '-1', 'c-1', 'C1', 'c1.5', 'c1 ', 'c1\n', `c${'z'.repeat(10)}`),
      ),
      (cursor) => {
        fc.pre(!/^c[0-9a-z]{1,9}$/.test(cursor) || cursor.endsWith('\n'))
        expect(() => decodeCursor(cursor)).toThrow(/cursor is invalid/)
      },
    ),
  )
})

test('the wait is found among other preferences, in any order and spelling', () => {
  const other = fc.constantFrom(
    'respond-async',
    'handling=lenient',
    'redirect',
    'return=minimal; foo="bar"',
    'waiting=5',
  )
  const spelled = (seconds: number) =>
    fc.constantFrom(`wait=${seconds}`, `wait = ${seconds}`, `Wait="${seconds}"`, `wait=${seconds}; foo=bar`)
  const lists = fc
    .tuple(fc.nat({ max: 999_999 }), fc.array(other), fc.array(other))
    .chain(([seconds, before, after]) =>
      spelled(seconds).map((wait) => ({ seconds, header: [...before, wait, ...after].join(', ') })),
    )
  fc.assert(
    fc.property(lists, ({ seconds, header }) => {
      expect(preferredWaitMs({ header: (name) => (name === 'prefer' ? header : undefined) })).toBe(seconds * 1_000)
    }),
  )
})

test.each([
  [undefined],
  [''],
  ['wait'],
  ['wait='],
  ['wait=-1'],
  ['wait=1.5'],
  ['wait=soon'],
  ['await=5'],
  ['wait=1234567'],
])('%j asks for no wait', (header) => {
  expect(preferredWaitMs({ header: () => header })).toBe(0)
})

function refusalOf(value: JsonValue, strict = false): unknown {
  try {
    parseEnvelope(value, strict)
    return undefined
  } catch (thrown) {
    return thrown
  }
}

function isText(value: JsonValue): boolean {
  return typeof value === 'string'
}

function isObject(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
