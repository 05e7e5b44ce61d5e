/** Schemas without references: each reference is replaced by its target, and no schema makes the list infinite. */
import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { inlineSchema } from '../../../src/protocols/oxp/inline-schema.ts'

test('references by pointer are resolved wherever a schema can stand, escapes included', () => {
  const text = { type: 'string' }
  const here = { $ref: '#/$defs/a~1b%20c' }

  expect(
    inlineSchema({
      $id: 'https://example.com/schema',
      $defs: { 'a/b c': text },
      properties: { a: here },
      patternProperties: { '^x': here },
      additionalProperties: here,
      items: here,
      prefixItems: [here],
      anyOf: [here],
      not: here,
      if: here,
      dependentSchemas: { b: here },
    }),
  ).toEqual({
    properties: { a: text },
    patternProperties: { '^x': text },
    additionalProperties: text,
    items: text,
    prefixItems: [text],
    anyOf: [text],
    not: text,
    if: text,
    dependentSchemas: { b: text },
  })
})

test('a value that only looks like a reference is kept: a property of that name, an example, a constant', () => {
  const schema: JsonObject = {
    properties: { $ref: { type: 'string' }, $defs: { type: 'object' }, definitions: true },
    enum: [{ $ref: '#/nowhere' }],
    const: { $defs: {} },
    examples: [{ $ref: 'x' }],
    default: { $schema: 'y' },
  }

  expect(inlineSchema(schema)).toEqual(schema)
})

test('keywords next to a reference are kept: annotations replace those of the target, rules are added', () => {
  const $defs = { short: { type: 'string', maxLength: 3, description: 'Short.' } }

  expect(inlineSchema({ $defs, $ref: '#/$defs/short', description: 'Mine.', minLength: 1 })).toEqual({
    type: 'string',
    maxLength: 3,
    description: 'Mine.',
    minLength: 1,
  })
  expect(inlineSchema({ $defs, $ref: '#/$defs/short', maxLength: 2 })).toEqual({
    allOf: [$defs.short, { maxLength: 2 }],
  })
})

test('where a schema contains itself, or a name only the validator can look up, anything goes', () => {
  expect(inlineSchema({ properties: { next: { $ref: '#' }, named: { $ref: '#anchor' } } })).toEqual({
    properties: { next: {}, named: {} },
  })
  expect(
    inlineSchema({
      $defs: { a: { items: { $ref: '#/$defs/b' } }, b: { items: { $ref: '#/$defs/a' } } },
      properties: { x: { $ref: '#/$defs/a' }, y: { $ref: '#/$defs/b' } },
    }),
  ).toEqual({ properties: { x: { items: { items: {} } }, y: { items: { items: {} } } } })
})

test('a schema that doubles at every level is cut off before it fills the memory', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/l${level + 1}` }
      return [`l${level}`, { properties: { a: next, b: next } }]
    }),
  )

  const inlined = inlineSchema({ $defs: { ...$defs, l40: true }, $ref: '#/$defs/l0' })

  expect(JSON.stringify(inlined).length).toBeLessThan(200_000)
})
