/** Plain JSON Schema: the checks at start, on input and on output. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../src/core/fault.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { Schema } from '../../src/core/operation/schema.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { verifies } from '../requirements.ts'

const idle = (): never => {
  throw new Error('Only the schemas are used here.')
}

function prepareArgs(args?: Schema) {
  return prepareSchemas(operation('v1:shop.buy', { ...(args && { args }), run: idle }))
}

function prepareResult(result?: Schema) {
  return prepareSchemas(operation('v1:shop.buy', { ...(result && { result }), run: idle }))
}

function faultOf(act: () => unknown): Fault {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

function issuesOf(fault: Fault): JsonObject[] {
  return (fault.details?.issues ?? []) as JsonObject[]
}

describe('at start', () => {
  it.each<[string, JsonObject, string]>([
    ['an unknown type', { properties: { a: { type: 'strng' } } }, '/properties/a/type'],
    ['a name where a list belongs', { required: 'a' }, '/required'],
    ['a text where a schema belongs', { properties: { 'a/b': 'string' } }, '/properties/a~1b'],
    ['a negative length', { $defs: { a: { minLength: -1 } } }, '/$defs/a/minLength'],
    ['a broken pattern', { items: { pattern: '(' } }, '/items/pattern'],
    ['items as they were before 2020-12', { items: [{ type: 'string' }] }, '/items'],
    ['a keyword that is ignored since', { dependencies: { a: ['b'] } }, '/dependencies'],
    ['another dialect', { $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, '/$ref'],
    ['a reference to the network', { items: { $ref: 'https://example.com/a.json' } }, '/items/$ref'],
    ['a broken schema that only a reference leads to', { $ref: '#/x', x: { type: 1 } }, '/x/type'],
  ])('refuses %s and names the place', (_what, schema, place) => {
    const fault = faultOf(() => prepareResult(schema))

    expect(fault).toMatchObject({ kind: 'malformed', code: 'INVALID_SCHEMA', details: { path: place } })
    expect(fault.message).toContain('result schema of v1:shop.buy')
    expect(fault.message).toContain(place)
  })

  it('refuses an unknown reference among ids and anchors', () => {
    const schema = { $id: 'https://shop.example/a', $defs: { b: { $anchor: 'b' } }, $ref: '#c' }

    expect(faultOf(() => prepareArgs(schema))).toMatchObject({ kind: 'malformed', code: 'INVALID_SCHEMA' })
  })

  it('refuses a value that is not a schema', () => {
    const oldLibrary = { parse: () => null, _def: {} }

    expect(faultOf(() => prepareArgs(oldLibrary)).kind).toBe('malformed')
  })

  it('checks the JSON Schema given beside a library as well', () => {
    const definition = operation('v1:shop.buy', { args: z.date(), jsonSchema: { args: { type: 'dat' } }, run: idle })

    expect(faultOf(() => prepareSchemas(definition)).code).toBe('INVALID_SCHEMA')
  })

  it('agrees with the official meta-schema and with what can be compiled', () => {
    const ajv = new Ajv2020({ strict: false, logger: false })
    const compiles = (schema: object) => new Ajv2020({ strict: false, logger: false, meta: false }).compile(schema)
    const keyword = fc.constantFrom(
      ...'type enum const minLength maximum multipleOf uniqueItems pattern required properties patternProperties'.split(
        ' ',
      ),
      ...'items prefixItems anyOf not additionalProperties dependentRequired $defs default title examples'.split(' '),
      ...'minContains if propertyNames dependentSchemas format deprecated unevaluatedItems unknown'.split(' '),
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>('string', 'a', 1, 0, -1, 1.5, true, false, null, ['a'], ['a', 'a'], [], {}, [{}]),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(keyword, tie('value'), { maxKeys: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('value'), { maxKeys: 2 }),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(keyword, value, { minKeys: 1, maxKeys: 3 }), (schema) => {
        const accepted = attempt(() => prepareArgs(schema))

        // An empty choice is allowed by the meta-schema, and refused by ajv as soon as it comes to it.
        if (!accepted && JSON.stringify(schema).includes('"enum":[]')) return
        expect(ajv.validateSchema(schema)).toBe(accepted)
        if (accepted) compiles(schema)
      }),
      { numRuns: 2_000 },
    )
  })
})

function attempt(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}

it('follows references inside the schema, ids and anchors, and one id may serve two operations', () => {
  const tree = {
    $id: 'https://shop.example/tree',
    $defs: { leaf: { $anchor: 'leaf', type: 'integer' } },
    type: 'object',
    properties: { leaf: { $ref: '#leaf' }, left: { $ref: '#' }, right: { $ref: 'https://shop.example/tree' } },
  }
  const [one, other] = [prepareArgs(tree), prepareArgs({ ...tree })]

  expect(one.parseArgs({ left: { right: { leaf: 1 } } })).toEqual({ left: { right: { leaf: 1 } } })
  expect(issuesOf(faultOf(() => other.parseArgs({ left: { right: { leaf: 'x' } } })))).toMatchObject([
    { path: '/left/right/leaf', keyword: 'type' },
  ])
})

it('accepts any object as arguments and any JSON as result where no schema is given', () => {
  verifies('opencall:247', 'opencall:248')
  const { parseArgs, parseResult, schemas } = prepareSchemas(operation('v1:shop.buy', { run: idle }))

  expect(parseArgs({ a: [1] })).toEqual({ a: [1] })
  for (const wrong of [null, [], 'x', 1]) expect(faultOf(() => parseArgs(wrong)).code).toBe('VALIDATION_ERROR')
  expect(parseResult([1, 'a', null])).toEqual([1, 'a', null])
  expect(schemas).toMatchObject({ args: { type: 'object' }, result: {} })
})

describe('arguments', () => {
  it('may have fields that every object inherits, and only as their own', () => {
    const schema = {
      properties: { constructor: { type: 'string' }, toString: { type: 'string' } },
      required: ['valueOf'],
    }
    const { parseArgs } = prepareArgs(schema)

    expect(parseArgs({ valueOf: 1, constructor: 'Ferrari' })).toEqual({ valueOf: 1, constructor: 'Ferrari' })
    expect(issuesOf(faultOf(() => parseArgs({})))).toMatchObject([{ path: '/valueOf', message: 'is required' }])
  })

  it.each([
    ['JSON Schema', { properties: { n: { default: 1 } } }],
    ['a library', z.looseObject({})],
    ['no schema', undefined],
  ])('called __proto__ are refused with %s', (_kind, schema) => {
    const hostile = JSON.parse('{"a":[{"__proto__":{"admin":true}}]}')

    const fault = faultOf(() => prepareArgs(schema).parseArgs(hostile))

    expect(issuesOf(fault)).toMatchObject([{ path: '/a/0/__proto__' }])
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  it('that are wrong in a thousand places are answered shortly', () => {
    const { parseArgs } = prepareArgs({ type: 'array', items: { type: 'object', required: ['id'] } })

    const few = faultOf(() => parseArgs(Array.from({ length: 100 }, () => ({}))))
    const many = faultOf(() => parseArgs(Array.from({ length: 100_000 }, () => ({}))))

    expect(issuesOf(few)).toHaveLength(20)
    expect(few.message).toContain('/0/id: is required; /1/id: is required; /2/id: is required; and 17 more')
    expect(issuesOf(many)).toHaveLength(1)
  })

  it('with endless names do not make endless messages', () => {
    const { parseArgs } = prepareArgs({ additionalProperties: false })

    const fault = faultOf(() => parseArgs({ ['x'.repeat(100_000)]: 1 }))

    expect(JSON.stringify(fault.toRecord()).length).toBeLessThan(2_000)
  })

  it('that must be one of some values learn which', () => {
    const { parseArgs } = prepareArgs({ properties: { size: { enum: ['S', 'M'] } } })

    expect(faultOf(() => parseArgs({ size: 'XXL-secret' })).message).toBe(
      'Correct the arguments of v1:shop.buy: /size: must be one of "S", "M".',
    )
  })
})

describe('a result', () => {
  class Row {
    id = 1
  }
  const loop: Record<string, unknown> = {}
  loop.self = loop

  it.each<[string, unknown, string, string]>([
    ['a Date', { at: new Date(0) }, '/at', 'toISOString'],
    ['a Map', { a: [new Map()] }, '/a/0', 'Map'],
    ['bytes', { a: new Uint8Array(1) }, '/a', 'Uint8Array'],
    ['a bigint', { n: 1n }, '/n', 'bigint'],
    ['NaN', [Number.NaN], '/0', 'NaN'],
    ['a function', { f: () => 1 }, '/f', 'function'],
    ['a gap in a list', { a: [undefined] }, '/a/0', 'undefined'],
    ['itself', loop, '/self/self', 'contains itself'],
  ])('that holds %s is refused, and the place is named', (_what, value, path, word) => {
    const fault = faultOf(() => prepareResult().parseResult(value))

    expect(fault).toMatchObject({ kind: 'internal', code: 'INVALID_RESULT' })
    expect(String(issuesOf(fault)[0]?.path)).toMatch(new RegExp(`^${path}`))
    expect(issuesOf(fault)[0]?.message).toContain(word)
  })

  it('may be a row of a database, an object without prototype, and have members that are undefined', () => {
    const bare = Object.assign(Object.create(null), { a: 1 })

    const inheriting = Object.assign(Object.create({ save() {} }), { b: 2 })
    const value = { row: new Row(), bare, inheriting, none: undefined }

    const text = JSON.stringify(prepareResult().parseResult(value))

    expect(text).toBe('{"row":{"id":1},"bare":{"a":1},"inheriting":{"b":2}}')
  })

  it('of a library that makes something else than JSON is refused as well', () => {
    const result = z.object({ at: z.date() })
    const definition = operation('v1:shop.buy', { result, jsonSchema: { result: { type: 'object' } }, run: idle })

    expect(faultOf(() => prepareSchemas(definition).parseResult({ at: new Date(0) })).code).toBe('INVALID_RESULT')
  })
})
