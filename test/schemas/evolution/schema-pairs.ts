/** Two schemas that resemble each other, and values that they may accept. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../src/core/json.ts'

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
export function pair(depth: number): fc.Arbitrary<Pair> {
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
export const value: fc.Arbitrary<JsonValue> = fc.oneof(
  scalar,
  fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 3 }),
  fc.record({ a: scalar, b: fc.oneof(scalar, fc.record({ a: scalar }, { requiredKeys: [] })) }, { requiredKeys: [] }),
)

export function validatorOf(schema: JsonObject): (value: unknown) => boolean {
  return new Ajv2020({ strict: false, logger: false, validateSchema: false, meta: false }).compile(schema)
}
