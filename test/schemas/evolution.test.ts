/** The schema-evolution rules: which changes may keep the version, and which need a new one. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import { type Change, compareRegistries } from '../../src/schemas/evolution/registries.ts'
import { verifies } from '../requirements.ts'

const TODAY = '2026-06-15'

const entry: JsonObject = {
  op: 'v1:orders.place',
  executionModel: 'async',
  sideEffecting: true,
  idempotencyRequired: false,
  authScopes: ['orders:write'],
  argsSchema: {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 2, maxLength: 40 },
      amount: { type: 'number', minimum: 1, maximum: 100 },
      count: { type: 'integer' },
      speed: { enum: ['slow', 'fast'] },
      code: { type: 'string', pattern: '^[A-Z]+$', format: 'hostname' },
      lines: { type: 'array', maxItems: 9, items: { $ref: '#/$defs/line' } },
      pay: { oneOf: [payment('card', 'number'), payment('cash', 'currency')] },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['city'],
    $defs: {
      line: {
        type: 'object',
        properties: { sku: { type: 'string' }, parts: { type: 'array', items: { $ref: '#/$defs/line' } } },
        required: ['sku'],
      },
    },
  },
  resultSchema: {
    type: 'object',
    properties: { id: { type: 'string' }, state: { enum: ['open', 'done'] }, total: { type: 'number' } },
    required: ['id'],
  },
  mediaSchema: [{ name: 'scan', required: false, acceptedTypes: ['image/png', 'image/jpeg'], maxBytes: 1000 }],
}

function payment(kind: string, field: string): JsonObject {
  return {
    type: 'object',
    properties: { kind: { const: kind }, [field]: { type: 'string' } },
    required: ['kind', field],
  }
}

/** Sets the value at a path such as `argsSchema/properties/city/minLength`; `undefined` takes it away. */
function edited(path: string, value: unknown, from = entry): JsonObject {
  const copy = structuredClone(from)
  const keys = path.split('/')
  const last = keys.pop() as string
  const holder = keys.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy)
  if (value === undefined) delete holder[last]
  else holder[last] = value
  return copy
}

function registry(...operations: JsonObject[]) {
  return { callVersion: '2026-02-10', operations }
}

function changesOf(after: JsonObject, before = entry): Change[] {
  return compareRegistries(registry(before), registry(after), TODAY)
}

type Edit = [what: string, path: string, value: unknown]
const args = 'argsSchema/properties'
const result = 'resultSchema/properties'

const SAFE: Record<string, Edit[]> = {
  'opencall:218': [
    ['an optional argument is added', `${args}/gift`, { type: 'boolean' }],
    ['an optional argument is added deeper', 'argsSchema/$defs/line/properties/colour', { type: 'string' }],
  ],
  'opencall:219': [['a result field is added', `${result}/placedAt`, { type: 'string' }]],
  'opencall:220': [
    ['an optional attachment is added', 'mediaSchema/1', { name: 'map', acceptedTypes: ['image/png'], maxBytes: 5 }],
  ],
  'opencall:221': [
    ['integer becomes number', `${args}/count/type`, 'number'],
    ['an enumeration gains a value', `${args}/speed/enum`, ['slow', 'fast', 'now']],
    ['a result enumeration gains a value', `${result}/state/enum`, ['open', 'done', 'lost']],
    [
      'a text may be null',
      `${args}/city`,
      { anyOf: [{ type: 'string', minLength: 2, maxLength: 40 }, { type: 'null' }] },
    ],
    ['a text may be null, written as types', `${args}/city/type`, ['string', 'null']],
    ['alternatives become a list of types', `${args}/note`, { type: ['null', 'string'] }],
    ['a marked alternative is added', `${args}/pay/oneOf/2`, payment('bank', 'iban')],
    ['anything is allowed', `${args}/count`, {}],
  ],
  'opencall:222': [
    ['minLength goes down', `${args}/city/minLength`, 1],
    ['maxLength goes', `${args}/city/maxLength`, undefined],
    ['maximum goes up', `${args}/amount/maximum`, 200],
    ['maxItems goes up', `${args}/lines/maxItems`, 10],
    ['the pattern goes', `${args}/code/pattern`, undefined],
    ['a required argument becomes optional', 'argsSchema/required', []],
    ['maxBytes goes up', 'mediaSchema/0/maxBytes', 2000],
    ['a MIME type is added', 'mediaSchema/0/acceptedTypes', ['image/png', 'image/jpeg', 'image/webp']],
    ['MIME types are covered by a wider one', 'mediaSchema/0/acceptedTypes', ['image/*']],
  ],
}

const BREAKING: Record<string, Edit[]> = {
  'opencall:225': [
    ['an argument is removed', `${args}/count`, undefined],
    ['an argument is removed behind a reference', 'argsSchema/$defs/line/properties/parts', undefined],
    ['a result field is removed', `${result}/total`, undefined],
    ['a result field may be missing', 'resultSchema/required', []],
    ['an attachment is removed', 'mediaSchema', []],
  ],
  'opencall:226': [
    ['number becomes integer', `${args}/amount/type`, 'integer'],
    ['a result number becomes integer', `${result}/total/type`, 'integer'],
    ['an enumeration loses a value', `${args}/speed/enum`, ['slow']],
    ['an enumeration becomes one value', `${args}/speed`, { const: 'slow' }],
    ['a result enumeration loses a value', `${result}/state/enum`, ['open']],
    ['a type behind a reference is narrowed', 'argsSchema/$defs/line/properties/sku', { type: 'null' }],
    ['null is no longer allowed', `${args}/note`, { type: 'string' }],
    ['an alternative is removed', `${args}/pay/oneOf`, [payment('card', 'number')]],
    ['an alternative is narrowed', `${args}/pay/oneOf/0/properties/number/type`, 'null'],
    ['a marked alternative is mixed with an unmarked one', `${args}/pay/oneOf/2`, { type: 'object' }],
    ['minLength goes up', `${args}/city/minLength`, 3],
    ['maxLength goes down', `${args}/city/maxLength`, 39],
    ['minimum goes up', `${args}/amount/minimum`, 2],
    ['minimum becomes exclusive', `${args}/amount/exclusiveMinimum`, 1],
    ['maximum goes down', `${args}/amount/maximum`, 99],
    ['maxItems goes down', `${args}/lines/maxItems`, 8],
    ['items must differ', `${args}/lines/uniqueItems`, true],
    ['a multiple is asked for', `${args}/amount/multipleOf`, 5],
    ['the pattern changes', `${args}/code/pattern`, '^[A-Z]{3}$'],
    ['a format is asked for', `${args}/city/format`, 'hostname'],
    ['unlisted arguments are refused', 'argsSchema/additionalProperties', false],
    ['unlisted arguments must be texts', 'argsSchema/additionalProperties', { type: 'string' }],
    ['a limit is added beside a reference', `${args}/lines/items/required`, ['parts']],
    ['a condition is added', 'argsSchema/allOf', [{ required: ['count'] }]],
    ['something is excluded', `${args}/city/not`, { const: 'Bern' }],
    ['maxBytes goes down', 'mediaSchema/0/maxBytes', 999],
  ],
  'opencall:227': [
    ['an optional argument becomes required', 'argsSchema/required', ['city', 'count']],
    ['an optional argument becomes required behind a reference', 'argsSchema/$defs/line/required', ['sku', 'parts']],
    ['an optional attachment becomes required', 'mediaSchema/0/required', true],
    [
      'a required attachment is added',
      'mediaSchema/1',
      { name: 'map', required: true, acceptedTypes: [], maxBytes: 5 },
    ],
    ['an idempotency key becomes required', 'idempotencyRequired', true],
    ['a scope becomes required', 'authScopes', ['orders:write', 'orders:admin']],
  ],
  'opencall:228': [['async becomes sync', 'executionModel', 'sync']],
  'opencall:229': [['a MIME type is removed', 'mediaSchema/0/acceptedTypes', ['image/png']]],
}

function rows(table: Record<string, Edit[]>) {
  return Object.entries(table).flatMap(([id, edits]) => edits.map(([what, path, value]) => ({ id, what, path, value })))
}

it.each(rows(SAFE))('safe: $what', ({ id, path, value }) => {
  verifies(id)
  const changes = changesOf(edited(path, value))

  expect(changes).not.toEqual([])
  expect(changes.filter(({ kind }) => kind === 'breaking')).toEqual([])
})

it.each(rows(BREAKING))('breaking: $what', ({ id, path, value }) => {
  verifies(id)
  const found = changesOf(edited(path, value)).filter(({ kind }) => kind === 'breaking')

  expect(found.map(({ op }) => op)).toContain('v1:orders.place')
  expect(found.every((change) => change.path.startsWith(`/${path.split('/')[0]}`))).toBe(true)
})

it('a renamed field is found as removed, with a guess at its new name', () => {
  verifies('opencall:225')
  const after = edited(`${args}/places`, { type: 'integer' }, edited(`${args}/count`, undefined))

  expect(changesOf(after)).toContainEqual({
    op: 'v1:orders.place',
    path: '/argsSchema/properties/count',
    kind: 'breaking',
    message: 'field "count" was removed (or renamed to "places")',
  })
})

it('a declared error code may come, but may not go or change its name', () => {
  const declared = (...codes: string[]) => ({
    ...entry,
    errors: Object.fromEntries(codes.map((code) => [code, { description: 'Why.', retryable: false }])),
  })

  const added = changesOf(declared('SOLD_OUT', 'CLOSED'), declared('SOLD_OUT'))
  const renamed = changesOf(declared('CLOSED'), declared('SOLD_OUT'))
  const reworded = changesOf(
    { ...entry, errors: { SOLD_OUT: { description: 'No seat is left.', retryable: true } } },
    declared('SOLD_OUT'),
  )

  expect(added).toMatchObject([{ path: '/errors/CLOSED', kind: 'safe' }])
  expect(renamed).toMatchObject([
    { path: '/errors/SOLD_OUT', kind: 'breaking', message: 'error code was removed' },
    { path: '/errors/CLOSED', kind: 'safe' },
  ])
  expect(reworded).toEqual([])
})

it('the same shape written with other references is no change', () => {
  const inline = edited(`${args}/lines/items`, { $ref: '#/$defs/row', description: 'One line' })
  const schema = inline.argsSchema as { $defs: JsonObject }
  schema.$defs = { row: JSON.parse(JSON.stringify(schema.$defs.line).replace('#/$defs/line', '#/$defs/row')) }

  expect(changesOf(inline)).toEqual([])
})

it('a place in a list that is described like all others is no change', () => {
  const lines = { type: 'array', maxItems: 9, prefixItems: [{ $ref: '#/$defs/line' }], items: { $ref: '#/$defs/line' } }

  expect(changesOf(edited(`${args}/lines`, lines))).toEqual([])
})

describe('an operation that comes or goes', () => {
  const deprecated = { ...entry, deprecated: true, sunset: '2026-06-14', replacement: 'v2:orders.place' }

  it('may come, as a new version beside the old one', () => {
    verifies('opencall:230')
    const next = { ...entry, op: 'v2:orders.place', executionModel: 'sync' }
    const old = { ...entry, deprecated: true, sunset: '2026-12-01', replacement: 'v2:orders.place' }

    const changes = compareRegistries(registry(entry), registry(old, next), TODAY)

    expect(changes.map(({ op, kind }) => [op, kind])).toEqual([
      ['v1:orders.place', 'safe'],
      ['v2:orders.place', 'safe'],
    ])
  })

  it.each([
    ['before its sunset was ever named', entry, 'breaking'],
    ['on its sunset day', { ...deprecated, sunset: TODAY }, 'breaking'],
    ['the day after its sunset', deprecated, 'safe'],
  ])('that goes %s', (_when, before, kind) => {
    const changes = compareRegistries(registry(before), registry(), TODAY)

    expect(changes).toMatchObject([{ op: 'v1:orders.place', path: '', kind }])
  })

  it('may not bring its sunset forward', () => {
    expect(changesOf({ ...deprecated, sunset: '2026-06-01' }, deprecated)).toMatchObject([
      { path: '/sunset', kind: 'breaking' },
    ])
    expect(changesOf({ ...deprecated, sunset: '2026-09-01' }, deprecated)).toMatchObject([
      { path: '/sunset', kind: 'safe' },
    ])
  })
})

it('says what to pass if a document is not a registry', () => {
  expect(() => compareRegistries({}, registry(), TODAY)).toThrow('/.well-known/ops')
  expect(() => compareRegistries(registry(), { operations: [{}] }, TODAY)).toThrow('/operations/0')
})

describe('for any schema', () => {
  const leaf = fc.constantFrom<JsonObject>(
    { type: 'string', minLength: 1 },
    { type: 'integer', maximum: 9 },
    { enum: ['a', 'b'] },
    { $ref: '#' },
    { not: { type: 'null' } },
  )
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      object(tie('schema')),
    ) as fc.Arbitrary<JsonObject>,
  }))

  function object(member: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
    const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
    return fc
      .tuple(fc.uniqueArray(fc.tuple(name, member), { selector: ([key]) => key, maxLength: 3 }), fc.boolean())
      .map(([members, closed]) => ({
        type: 'object',
        properties: Object.fromEntries(members),
        required: members.slice(0, 1).map(([key]) => key),
        ...(closed && { additionalProperties: false }),
      }))
  }

  it('comparing it with itself finds nothing', () => {
    fc.assert(
      fc.property(schema, (argsSchema) => {
        const one: JsonObject = { op: 'v1:x', argsSchema, resultSchema: argsSchema }
        expect(changesOf(structuredClone(one), one)).toEqual([])
      }),
    )
  })

  it('adding an optional argument or a result field never breaks', () => {
    verifies('opencall:218', 'opencall:219')
    fc.assert(
      fc.property(object(schema), schema, (before, field) => {
        const after = { ...before, properties: { ...(before.properties as JsonObject), added: field } }
        const one: JsonObject = { op: 'v1:x', argsSchema: before, resultSchema: before }
        const other: JsonObject = { op: 'v1:x', argsSchema: after, resultSchema: after }
        const breaking = changesOf(other, one).filter(({ kind }) => kind === 'breaking')
        expect(breaking).toEqual([])
      }),
    )
  })

  it('taking away a field always breaks', () => {
    verifies('opencall:225')
    fc.assert(
      fc.property(object(schema), schema, (after, field) => {
        const before = { ...after, properties: { ...(after.properties as JsonObject), gone: field } }
        for (const side of ['argsSchema', 'resultSchema']) {
          const changes = changesOf({ op: 'v1:x', [side]: after }, { op: 'v1:x', [side]: before })
          expect(
            changes.some(({ kind, message }) => kind === 'breaking' && message.includes('"gone" was removed')),
          ).toBe(true)
        }
      }),
    )
  })

  it('no change that is called safe refuses arguments that were good', () => {
    let calledSafe = 0
    fc.assert(
      fc.property(pair(2), fc.array(value, { minLength: 20, maxLength: 20 }), ([before, after], values) => {
        const changes = changesOf({ op: 'v1:x', argsSchema: after }, { op: 'v1:x', argsSchema: before })
        if (changes.some(({ kind }) => kind === 'breaking')) return
        calledSafe++
        const [accepted, accepts] = [validatorOf(before), validatorOf(after)]
        for (const one of values) if (accepted(one)) expect([one, accepts(one)]).toEqual([one, true])
      }),
      { numRuns: 1_000 },
    )
    expect(calledSafe).toBeGreaterThan(100)
  })
})

const SCALARS: JsonObject[] = [
  {},
  { type: 'string' },
  { type: 'integer' },
  { type: 'number' },
  { type: ['string', 'null'] },
  { type: 'integer', minimum: 1 },
  { type: 'number', exclusiveMinimum: 1 },
  { type: 'string', maxLength: 1 },
  { enum: ['a', 1] },
  { enum: ['a', 1, null] },
  { const: 'a' },
  { not: {} },
  { not: { const: 1 } },
]

type Pair = [before: JsonObject, after: JsonObject]

/** Two schemas that have to do with each other: the same build here and there, from few enough parts. */
function pair(depth: number): fc.Arbitrary<Pair> {
  const scalar = fc.constantFrom(...SCALARS)
  const scalars: fc.Arbitrary<Pair> = fc.oneof(
    fc.tuple(scalar, scalar),
    scalar.map((same): Pair => [same, same]),
  )
  if (depth === 0) return scalars
  const inner = pair(depth - 1)
  const build = (wrap: (...schemas: JsonObject[]) => JsonObject, parts: number): fc.Arbitrary<Pair> =>
    fc
      .array(inner, { minLength: parts, maxLength: parts })
      .map((pairs) => [wrap(...pairs.map(([before]) => before)), wrap(...pairs.map(([, after]) => after))])
  // Closed: a new field of an open object may, by the text, refuse what was let through unread.
  const object = (required: string[]) => (a: JsonObject, b: JsonObject) =>
    ({ type: 'object', properties: { a, b }, required, additionalProperties: false }) as JsonObject
  const built = fc.oneof(
    scalars,
    build(object(['a']), 2),
    build(object([]), 2),
    build((first, items) => ({ type: 'array', prefixItems: [first, first], items }) as JsonObject, 2),
    build((items) => ({ type: 'array', items, maxItems: 2 }) as JsonObject, 1),
    build((line) => line, 1),
    ...(['anyOf', 'oneOf', 'allOf'] as const).map((keyword) => build((...parts) => ({ [keyword]: parts }), 2)),
  )
  // Now and then one side is of another build.
  return fc
    .tuple(built, built, fc.integer({ max: 4, min: 0 }))
    .map(([one, other, dice]) => (dice === 0 ? [one[0], other[1]] : one))
}

const scalar = fc.constantFrom<JsonValue>('a', 'bb', '', 0, 1, 2, 1.5, null, true)
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  scalar,
  fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 3 }),
  fc.record({ a: scalar, b: fc.oneof(scalar, fc.record({ a: scalar }, { requiredKeys: [] })) }, { requiredKeys: [] }),
)

function validatorOf(schema: JsonObject): (value: unknown) => boolean {
  return new Ajv2020({ strict: false, logger: false, validateSchema: false, meta: false }).compile(schema)
}
