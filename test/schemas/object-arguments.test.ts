import { type } from 'arktype'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import type { PlainSchema, Schema } from '../../src/core/operation/schema.ts'
import { buildRegistry } from '../../src/server/build/operations.ts'

/** As a server does at its start. */
function prepare(args: Schema, beside?: PlainSchema) {
  const takes = {
    name: 'v1:it.takes',
    rules: {},
    args,
    ...(beside && { jsonSchema: { args: beside } }),
    run: () => null,
  }
  const registry = buildRegistry([takes], () => ({ kind: 'handler', execute: () => null }))
  return registry.resolve('v1:it.takes', 0)
}

test.each<[string, Schema]>([
  ['a text', { type: 'string' }],
  ['a list', { type: 'array', items: {} }],
  ['several types that are not objects', { type: ['string', 'null'] }],
  ['a constant', { const: 5 }],
  ['one of some texts', { enum: ['a', 'b'] }],
  ['a union of other types', { anyOf: [{ type: 'string' }, { type: 'number' }] }],
  ['a reference to another type', { $ref: '#/$defs/text', $defs: { text: { type: 'string' } } }],
  ['an object that must be a text as well', { allOf: [{ type: 'object' }, { type: 'string' }] }],
  ['anything but an object', { not: { type: 'object' } }],
  ['a text of zod', z.string()],
  ['a list of zod', z.array(z.object({}))],
  ['a text of zod/mini', mini.string()],
  ['a union of valibot', v.union([v.string(), v.number()])],
  ['a text of arktype', type('string')],
])('arguments that are %s are refused at start, with what to write instead', (_name, schema) => {
  expect(() => prepare(schema)).toThrow(
    /The arguments of v1:it\.takes are not an object.*Wrap the value in one: z\.object.*or \{ type: 'object'/,
  )
})

test.each<[string, Schema]>([
  ['nothing', {}],
  ['an object', { type: 'object' }],
  ['an object or a text', { type: ['object', 'string'] }],
  ['properties without a type', { properties: { a: { type: 'string' } } }],
  ['a union with an object', { anyOf: [{ type: 'string' }, { type: 'object' }] }],
  ['a union of objects', { oneOf: [{ type: 'object', required: ['a'] }, { $ref: '#/$defs/b' }], $defs: { b: {} } }],
  ['a reference to an object', { $ref: '#/$defs/it', $defs: { it: { type: 'object' } } }],
  ['a schema that contains itself', { type: 'object', anyOf: [{ $ref: '#' }, { required: ['a'] }] }],
  ['an anchor', { $ref: '#it', $defs: { it: { $anchor: 'it', type: 'object' } } }],
  ['not a certain object', { not: { type: 'object', required: ['a'] } }],
  ['an object of zod', z.object({ a: z.string() })],
  ['a record of zod', z.record(z.string(), z.number())],
  ['a union of zod', z.union([z.object({ a: z.string() }), z.string()])],
  ['an object of zod that becomes something else', z.object({ a: z.string() }).transform(({ a }) => a)],
  ['anything of zod', z.unknown()],
  ['an object of zod/mini', mini.object({ a: mini.string() })],
  ['a strict object of valibot', v.strictObject({ a: v.string() })],
  [
    'a pipe of valibot',
    v.pipe(
      v.object({ a: v.string() }),
      v.check(({ a }) => a !== ''),
    ),
  ],
  ['an object of arktype', type({ a: 'string' })],
])('arguments that are %s are taken', (_name, schema) => {
  expect(() => prepare(schema)).not.toThrow()
})

test('the JSON Schema beside a library decides, and an object of a library is not exported at start', () => {
  expect(() => prepare(z.unknown(), { type: 'string' })).toThrow(/are not an object/)
  let exports = 0
  const counted = z.object({ a: z.string() })
  const standard = counted['~standard'] as { jsonSchema?: { input: (options: never) => object } }
  const { jsonSchema } = standard
  if (!jsonSchema) throw new Error('zod exports its schemas by Standard Schema since 4.2')
  const { input } = jsonSchema
  const counting = (options: never) => {
    exports++
    return input(options)
  }
  standard.jsonSchema = { ...jsonSchema, input: counting }

  const { schemas } = prepare(counted)

  expect(exports).toBe(0)
  expect(schemas.args).toMatchObject({ type: 'object' })
  expect(exports).toBe(1)
})
