/** Arguments generated from schemas: valid ones, and invalid ones that fail exactly where they say. */
import Ajv from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { invalidArguments, sampleArguments } from '../../src/testing/samples/samples.ts'

const ajv = new Ajv.default({ strict: false, allErrors: true })
addFormats.default(ajv)

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})

const SCHEMAS: readonly JsonObject[] = [
  object({ id: { type: 'string' }, count: { type: 'integer', minimum: 10 }, ratio: { type: 'number', maximum: 0.5 } }),
  object({ at: { type: 'string', format: 'date-time' }, on: { type: 'string', format: 'date' } }),
  object({ who: { type: 'string', format: 'email' }, ref: { type: 'string', format: 'uuid' } }),
  object({
    month: { type: 'string', pattern: '^\\d{4}-\\d{2}$' },
    code: { type: 'string', pattern: '^ORD-[0-9]{6}$' },
  }),
  object({
    either: { type: 'string', pattern: '^(?:north|south)-(\\w+)\\.x?$' },
    not: { type: 'string', pattern: '^[^a]b+$' },
  }),
  object({ long: { type: 'string', minLength: 40 }, short: { type: 'string', maxLength: 2 } }),
  object({ above: { type: 'integer', exclusiveMinimum: 7 }, tens: { type: 'integer', multipleOf: 10, minimum: 25 } }),
  object({
    below: { type: 'number', minimum: 0, exclusiveMaximum: 0.5 },
    half: { type: 'integer', exclusiveMaximum: 0 },
  }),
  object({ tags: { type: 'array', minItems: 2, items: { enum: ['a', 'b'] } }, none: { type: 'array' } }),
  object({ maybe: { type: ['null', 'string'] }, any: { anyOf: [{ type: 'null' }, { type: 'integer' }] } }),
  object({ nested: object({ deep: { const: 7 } }), shown: { type: 'string', examples: ['as shown'] } }),
  object({ ref: { $ref: '#/$defs/thing' } }, { $defs: { thing: object({ id: { type: 'integer' } }) } }),
  { allOf: [object({ a: { type: 'string' } }), { properties: { b: { type: 'boolean' } }, required: ['b'] }].map(open) },
  object({ list: { type: 'object', properties: { x: { type: 'string' } }, minProperties: 1 } }),
  {},
]

function open({ additionalProperties: _, ...schema }: JsonObject): JsonObject {
  return schema
}

test.each(SCHEMAS.map((schema) => [JSON.stringify(schema), schema] as const))('%s', (_title, schema) => {
  const args = sampleArguments(schema)

  expect(ajv.validate(schema, args), `${JSON.stringify(args)}: ${ajv.errorsText()}`).toBe(true)
  expect(sampleArguments(schema)).toEqual(args)
  for (const invalid of invalidArguments(schema, args)) {
    expect(ajv.validate(schema, invalid.args)).toBe(false)
    expect(JSON.stringify(ajv.errors)).toContain(invalid.at)
  }
})

test('one argument is missing and one is of the wrong type, where there are any', () => {
  const schema = object({ id: { type: 'string' }, count: { type: 'integer' } })

  expect(invalidArguments(schema, sampleArguments(schema))).toEqual([
    { args: { id: { not: 'a text' }, count: 1 }, at: 'id' },
    { args: { count: 1 }, at: 'id' },
  ])
  expect(invalidArguments({ type: 'object' }, {})).toEqual([])
})

test('a schema that refers to itself comes to an end', () => {
  const tree = object({ child: { $ref: '#' } })
  expect(JSON.stringify(sampleArguments(tree)).length).toBeLessThan(500)
})
