/** The fields that a schema marks as sensitive are found wherever they are, in a time that grows with the value only. */
import { expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import { withoutSensitive } from '../../src/engine/admin/calls/sensitive.ts'

const SECRET = { type: 'string', writeOnly: true }

/** An expression: a leaf, or one of several nodes with two sides. */
const EXPRESSION: JsonObject = {
  anyOf: ['and', 'or', 'xor', 'leaf'].map((name) => ({ $ref: `#/$defs/${name}` })),
  $defs: {
    ...Object.fromEntries(
      ['and', 'or', 'xor'].map((name) => [name, { properties: { left: { $ref: '#' }, right: { $ref: '#' } } }]),
    ),
    leaf: { properties: { key: SECRET } },
  },
}

function nested(depth: number, last: JsonValue): JsonValue {
  let value = last
  for (let level = 0; level < depth; level++) value = { left: value, right: { key: 'k', name: 'n' } }
  return value
}

test('a recursive schema with branches is no trap, however deep the value is', () => {
  const hidden = withoutSensitive(EXPRESSION, nested(300, { key: 'deepest' }))

  let last = hidden as JsonObject
  for (let level = 0; level < 300; level++) {
    expect(last.right).toEqual({ key: '[redacted]', name: 'n' })
    last = last.left as JsonObject
  }
  expect(last).toEqual({ key: '[redacted]' })
})

test.each<[string, JsonObject]>([
  ['$ref', { properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: SECRET } }],
  ['$ref by its anchor', { properties: { a: { $ref: '#x' } }, $defs: { x: { ...SECRET, $anchor: 'x' } } }],
  ['$ref by its id', { properties: { a: { $ref: 'x.json' } }, $defs: { x: { ...SECRET, $id: 'x.json' } } }],
  ['$dynamicRef', { properties: { a: { $dynamicRef: '#x' } }, $defs: { x: { ...SECRET, $dynamicAnchor: 'x' } } }],
  ['allOf', { allOf: [{ properties: { a: SECRET } }] }],
  ['oneOf', { oneOf: [{ properties: { b: {} } }, { properties: { a: SECRET } }] }],
  ['else', { if: { properties: { b: {} } }, else: { properties: { a: SECRET } } }],
  ['dependentSchemas', { dependentSchemas: { b: { properties: { a: SECRET } } } }],
  ['additionalProperties', { properties: { b: {} }, additionalProperties: { format: 'password' } }],
  ['unevaluatedProperties', { properties: { b: {} }, unevaluatedProperties: SECRET }],
  ['patternProperties', { properties: { b: {} }, patternProperties: { '^a': SECRET } }],
])('%s', (_, schema) => {
  expect(withoutSensitive(schema, { a: 'secret', b: 'open' })).toEqual({ a: '[redacted]', b: 'open' })
})

test.each<[string, JsonObject, JsonValue[]]>([
  ['items', { items: SECRET }, ['[redacted]', '[redacted]']],
  ['prefixItems', { prefixItems: [SECRET] }, ['[redacted]', 'b']],
  ['items after prefixItems', { prefixItems: [{}], items: SECRET }, ['a', '[redacted]']],
  ['items as a list', { items: [SECRET, {}] }, ['[redacted]', 'b']],
  ['unevaluatedItems', { prefixItems: [{}], unevaluatedItems: SECRET }, ['a', '[redacted]']],
])('%s', (_, schema, shown) => {
  expect(withoutSensitive(schema, ['a', 'b'])).toEqual(shown)
})

test('a schema that refers to itself, to nothing, or to what is no schema, ends', () => {
  const value = { a: [1, { b: 'open' }] }
  for (const $ref of ['#', '#/nowhere', '#/$defs/a/b/c', '#anchor', 'elsewhere.json', '#/$defs/%zz', '']) {
    expect(withoutSensitive({ $ref, properties: { a: { $ref } }, $defs: { a: 7 } }, value)).toBe(value)
  }
})
