/** The page's checks agree with the server's, on schemas and values of every kind, and are bounded. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkArguments } from '../../../console/src/forms/check/check-arguments.ts'
import { FormModel } from '../../../console/src/forms/schema/model.ts'
import { pointerOf } from '../../../console/src/forms/text/nodes.ts'
import { parseText } from '../../../console/src/forms/text/parse.ts'
import { createAjv } from '../../../src/schemas/ajv.ts'

const check = (schema: unknown, text: string) => checkArguments(new FormModel(schema), parseText(text))
const errors = (schema: unknown, text: string) =>
  check(schema, text)
    .problems.filter((problem) => problem.severity === 'error')
    .map(({ path, keyword }) => `${keyword} ${pointerOf(path)}`)

const name = fc.constantFrom('a', 'b', 'constructor', '')
/** ajv never misses the empty name. */
const needed = fc.constantFrom('a', 'b', 'constructor')
const small = fc.integer({ min: 0, max: 3 })
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(null, true, false, 0, 1, 2, 1.5, -1, '', 'a', 'ab', 'b', '2026-01-31', '💩'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value

/** Any combination of keywords, so that they meet each other. */
const schema = fc.letrec<{ schema: unknown }>((tie) => {
  const inner = tie('schema')
  const some = fc.array(inner, { minLength: 1, maxLength: 3 })
  const map = fc.dictionary(name, inner, { maxKeys: 3 })
  const types = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null')
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(value, {
      minLength: 1,
      maxLength: 3,
      comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    }),
    const: value,
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: small,
    multipleOf: fc.constantFrom(1, 2, 0.5, 0.1),
    minLength: small,
    maxLength: small,
    pattern: fc.constantFrom('^a', 'b$', '^(a|b)+$', '^$'),
    format: fc.constantFrom('date', 'uuid', 'email'),
    minItems: small,
    maxItems: small,
    uniqueItems: fc.boolean(),
    prefixItems: some,
    items: inner,
    contains: inner,
    unevaluatedItems: inner,
    properties: map,
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b'), inner, { maxKeys: 2 }),
    additionalProperties: inner,
    unevaluatedProperties: inner,
    propertyNames: inner,
    required: fc.uniqueArray(needed, { maxLength: 2 }),
    minProperties: small,
    maxProperties: small,
    dependentRequired: fc.dictionary(name, fc.uniqueArray(needed, { maxLength: 2 }), { maxKeys: 2 }),
    dependentSchemas: map,
    allOf: some,
    anyOf: some,
    oneOf: some,
    not: inner,
    if: inner,
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: inner,
    else: inner,
    $ref: fc.constantFrom('#/$defs/x', '#named'),
  }
  const part = fc
    .constantFrom(...Object.keys(keywords))
    .chain((keyword) => (keywords[keyword] as fc.Arbitrary<unknown>).map((of) => [keyword, of] as const))
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<unknown>(true, true, {}, false),
      fc.array(part, { minLength: 1, maxLength: 3 }).map(Object.fromEntries),
    ),
  }
}).schema

function verdictOfAjv(whole: object, instance: unknown): boolean | undefined {
  try {
    return createAjv({}).validate(whole, instance)
  } catch (thrown) {
    // It runs into itself, or ajv has compiled code that names a variable it never made (some `unevaluated…` schemas).
    if (thrown instanceof RangeError || thrown instanceof ReferenceError) return undefined
    throw thrown
  }
}

/** fast-check makes objects without a prototype, which ajv holds for different ones. */
function throughJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}

describe('agreement with the server', () => {
  test('a value is right here exactly if it is right for ajv', () => {
    fc.assert(
      fc.property(schema, schema, schema, value, (root, x, named, given) => {
        fc.pre(typeof root === 'object')
        const y = { ...(typeof named === 'object' ? named : {}), $anchor: 'named' }
        const whole = throughJson({ ...(root as object), $defs: { x, y } })
        const instance = throughJson(given)
        const expected = verdictOfAjv(whole, instance)
        // Two schemas that refer to each other without end.
        fc.pre(expected !== undefined)
        const { problems, incomplete } = check(whole, JSON.stringify(instance))
        fc.pre(!incomplete)
        expect(problems.length === 0).toBe(expected)
      }),
      { numRuns: 200 },
    )
  })
})

describe('findings', () => {
  test('each stands at its value', () => {
    const orders = {
      properties: { lines: { items: { required: ['sku'], properties: { sku: { minLength: 1 }, n: { minimum: 1 } } } } },
      additionalProperties: false,
    }
    expect(errors(orders, '{"lines": [{"sku": "", "n": 0}, {}], "x/y": 1}')).toEqual([
      'minLength /lines/0/sku',
      'minimum /lines/0/n',
      'required /lines/1/sku',
      'unknownProperty /x~1y',
    ])
  })

  test('of alternatives, the one that the value means is explained', () => {
    const shape = {
      oneOf: [
        { properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] },
        { properties: { kind: { const: 'square' }, side: { type: 'number' } }, required: ['kind', 'side'] },
      ],
    }
    expect(errors(shape, '{"kind": "square", "side": "1"}')).toEqual(['type /side'])
  })

  test('numbers are compared exactly', () => {
    const schema = { maximum: 9007199254740992 }
    expect(errors(schema, '9007199254740992')).toEqual([])
    expect(errors(schema, '9007199254740993')).toEqual(['maximum '])
    expect(errors({ type: 'integer' }, '12345678901234567890.0')).toEqual([])
    expect(errors({ multipleOf: 0.01 }, '19.99')).toEqual([])
  })

  test('unevaluated properties are those that no part of the same schema has looked at', () => {
    const closed = { allOf: [{ properties: { a: {} } }], anyOf: [{ required: ['b'], properties: { b: {} } }, true] }
    expect(errors({ ...closed, unevaluatedProperties: false }, '{"a": 1, "b": 2, "c": 3}')).toEqual([
      'unknownProperty /c',
    ])
    const cousins = { allOf: [{ properties: { a: {} } }, { unevaluatedProperties: false }] }
    expect(errors(cousins, '{"a": 1}')).toEqual(['unknownProperty /a'])
    expect(errors({ prefixItems: [true], contains: { const: 2 }, unevaluatedItems: false }, '[1, 2, 3]')).toEqual([
      'extraItem /2',
    ])
  })

  test('the text itself is checked as the server reads it', () => {
    const found = check({}, '{"a": 1, "a": 2, "n": 12345678901234567890, "x": 1e400, "s": "\\ud800"}').problems
    expect(found.map(({ keyword, severity }) => `${severity} ${keyword}`)).toEqual([
      'error duplicateKey',
      'warning numberRounded',
      'error numberTooLarge',
      'error loneSurrogate',
    ])
  })
})

describe('hostile schemas', () => {
  test('nested pairs that double the work end, and say that they are incomplete', () => {
    const $defs: Record<string, unknown> = { x40: { type: 'object' } }
    for (let n = 0; n < 40; n++)
      $defs[`x${n}`] = { allOf: [{ $ref: `#/$defs/x${n + 1}` }, { $ref: `#/$defs/x${n + 1}` }] }
    expect(check({ $ref: '#/$defs/x0', $defs }, '{}').incomplete).toBe(true)
  })

  test('a schema that is only itself ends', () => {
    expect(check({ $ref: '#' }, '{}').incomplete).toBe(true)
  })

  test('a pattern that explodes is tried in linear time', () => {
    const explosive = { pattern: '^(a+)+$' }
    expect(errors(explosive, JSON.stringify(`${'a'.repeat(50_000)}!`))).toEqual(['pattern '])
    expect(errors({ patternProperties: { '^(a|a)*$': false } }, `{"${'a'.repeat(5_000)}b": 1}`)).toEqual([])
  })

  test('a pattern without a bound, and one that is none, are left to the server', () => {
    expect(check({ pattern: '^(a+)+\\1$' }, '"aaaa"')).toEqual({ problems: [], incomplete: true })
    expect(check({ pattern: '(' }, '"a"')).toEqual({ problems: [], incomplete: true })
  })

  test('a remote reference is left to the server', () => {
    expect(check({ $ref: 'https://example.com/schema.json' }, '1')).toEqual({ problems: [], incomplete: true })
  })

  test('ten thousand allowed values cost one lookup each', () => {
    const values = Array.from({ length: 10_000 }, (_, n) => `v${n}`)
    const text = JSON.stringify(Array.from({ length: 5_000 }, (_, n) => `v${n}`))
    expect(errors({ items: { enum: values } }, text)).toEqual([])
  })

  test('properties that objects inherit are absent until they are there', () => {
    expect(errors({ required: ['constructor', '__proto__'] }, '{}')).toEqual([
      'required /constructor',
      'required /__proto__',
    ])
    const schema = JSON.parse('{"properties": {"__proto__": {"type": "string"}}}')
    expect(errors(schema, '{"__proto__": 1}')).toEqual(['type /__proto__'])
  })
})
