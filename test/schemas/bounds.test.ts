/** Bounded checks give the same verdict as unbounded ones, and the server warns about schemas that need a bound. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats/dist/formats.js'
import { operation } from 'callplane'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createBoundedCheck, createBoundedTests } from '../../src/schemas/bounds/check.ts'
import { costOf } from '../../src/schemas/bounds/cost.ts'
import { createGuard } from '../../src/schemas/bounds/guard.ts'
import { libraryCost } from '../../src/schemas/bounds/library.ts'
import { TooCostly } from '../../src/schemas/bounds/too-costly.ts'
import { isUrl } from '../../src/schemas/formats.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { startSite } from '../scenarios/server.ts'

const names = fc.constantFrom('a', 'b')
const { schema, value } = fc.letrec<{ schema: object; value: unknown }>((tie) => {
  const several = fc.array(tie('schema'), { minLength: 1, maxLength: 3 })
  const one = <K extends string>(keyword: K, of: fc.Arbitrary<unknown>) => of.map((held) => ({ [keyword]: held }))
  return {
    schema: fc.oneof(
      { maxDepth: 4 },
      one('type', fc.constantFrom('string', 'number', 'object', 'array', 'null')),
      one('pattern', fc.constantFrom('^a+$', '(a|b)*x', 'b')),
      one('const', fc.constantFrom(1, 'a', [])),
      one('enum', fc.constantFrom([1, 'a'], [[], {}, null])),
      fc.constantFrom({ minLength: 2 }, { uniqueItems: true }, { minItems: 1 }, { required: ['a'] }, {}),
      fc.constant({ $ref: '#' }),
      one('anyOf', several),
      one('oneOf', several),
      one('allOf', several),
      one('not', tie('schema')),
      one('items', tie('schema')),
      one('contains', tie('schema')),
      one('prefixItems', several),
      one('properties', fc.dictionary(names, tie('schema'), { maxKeys: 2 })),
      one('additionalProperties', fc.oneof(tie('schema'), fc.constant(false))),
      one('unevaluatedProperties', fc.constant(false)),
      one('unevaluatedItems', fc.constant(false)),
      fc.tuple(tie('schema'), tie('schema')).map(([left, right]) => ({ ...left, ...right })),
    ),
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<unknown>('a', 'aa', 'b', 'x', 1, 1.5, null, true, '', -0, 0),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value'), { maxKeys: 2 }),
    ),
  }
})

it('a bounded check accepts what ajv accepts, counted or not', { timeout: 180_000 }, () => {
  const compileShared = createBoundedTests()
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 1, maxLength: 5 }), (described, values) => {
      const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true })
      const plain = attempt(() => ajv.compile(described))
      fc.pre(plain !== undefined)
      const bounded = createBoundedCheck(described as never)
      // Without an id of its own a schema cannot refer to all of itself there.
      const shared = attempt(() => compileShared(described as never))

      for (const each of values.map(asJson)) {
        // A schema that refers to itself on the same value never ends; both overflow the stack then.
        const expected = attempt(() => plain(each))
        if (expected === undefined) continue
        expect([described, each, bounded(each) === undefined]).toEqual([described, each, expected])
        if (shared) expect(shared(each)).toBe(expected)
      }
    }),
    { numRuns: 400 },
  )
})

/** Objects as JSON.parse makes them. */
function asJson<T>(held: T): T {
  return JSON.parse(JSON.stringify(held))
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

it('equal items are found as ajv finds them', () => {
  const plain = new Ajv2020().compile({ type: 'array', uniqueItems: true })
  const bounded = createBoundedCheck({ type: 'array', uniqueItems: true })
  const item = fc.oneof(
    value,
    fc.constantFrom<unknown>({ a: 1, b: 2 }, { b: 2, a: 1 }, '1', 1, [1], ['1'], 'null', null),
  )

  fc.assert(
    fc.property(fc.array(item, { maxLength: 5 }).map(asJson), (items) => {
      expect(bounded(items) === undefined).toBe(plain(items))
    }),
  )
  expect(bounded([{ a: 1, b: 2 }, 1, { b: 2, a: 1 }])).toMatchObject([
    { keyword: 'uniqueItems', params: { i: 2, j: 0 }, message: expect.stringContaining('## 0 and 2') },
  ])
})

it('allowed values are found as ajv finds them', () => {
  const member = fc
    .oneof(value, fc.constantFrom<unknown>({ a: 1, b: 2 }, { b: 2, a: 1 }, '1', 1, [1], ['1'], 'null', null, '{}'))
    .map(asJson)

  fc.assert(
    fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), fc.array(member), (allowed, values) => {
      const plain = new Ajv2020({ validateSchema: false }).compile({ enum: allowed })
      const bounded = createBoundedCheck({ enum: allowed } as never, { validateSchema: false })

      for (const each of [...values, ...allowed.map(asJson)]) {
        expect([allowed, each, bounded(each) === undefined]).toEqual([allowed, each, plain(each)])
      }
    }),
  )
  expect(createBoundedCheck({ enum: ['a', 1] } as never)('b')).toMatchObject([
    { keyword: 'enum', params: { allowedValues: ['a', 1] } },
  ])
})

it('the length of a text is counted as ajv counts it', () => {
  const ajv = new Ajv2020()
  const checks = [0, 1, 2, 3].flatMap((bound) =>
    [{ minLength: bound }, { maxLength: bound }].map((described) => ({
      plain: ajv.compile(described),
      bounded: createBoundedCheck(described),
    })),
  )
  const text = fc.array(fc.constantFrom('a', 'é', '😀', '\ud83d', '\ude00'), { maxLength: 6 })

  fc.assert(
    fc.property(text, (pieces) => {
      const given = pieces.join('')
      for (const { plain, bounded } of checks) expect(bounded(given) === undefined).toBe(plain(given))
    }),
  )
  expect(createBoundedCheck({ maxLength: 2 })('abc')).toMatchObject([{ keyword: 'maxLength', params: { limit: 2 } }])
})

it('an alternative among more than one block of them is found as ajv finds it', () => {
  const described = { anyOf: Array.from({ length: 200 }, (_, at) => ({ const: at })) }
  const check = createBoundedCheck(described as never)

  for (const at of [0, 63, 64, 127, 128, 199]) expect(check(at)).toBeUndefined()
  expect(check(200)).toMatchObject(expect.arrayContaining([expect.objectContaining({ keyword: 'anyOf' })]))
})

it('the format url takes what it took', () => {
  const before = formats.fullFormats.url as RegExp
  const piece = fc.constantFrom(...'http:// ftp:// a b.cd @ : / ? 1.2.3.4 10.0.0.1 :80 - é'.split(' '), ' ')

  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('')

      expect([text, isUrl(text)]).toEqual([text, before.test(text)])
    }),
    { numRuns: 2_000 },
  )
})

describe('the cost of a schema', () => {
  it('at one place counts alternatives, and fields of one object once', () => {
    const many = Array.from({ length: 100 }, (_, at) => ({ properties: { [`f${at}`]: { type: 'string' } } }))

    expect(costOf({ items: { anyOf: many } } as never).width).toBe(101)
    expect(costOf({ allOf: [{ $ref: '#/$defs/x' }], $defs: { x: { oneOf: many } } } as never).width).toBe(103)
    expect(costOf({ properties: Object.fromEntries(many.map((one, at) => [`f${at}`, one])) } as never).width).toBe(13)
  })

  const kid = { properties: { kid: { $ref: '#' } } }

  it.each<[string, boolean, object]>([
    ['a plain object', false, { properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } }],
    [
      'a definition that is used often',
      false,
      { properties: { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } }, $defs: { x: {} } },
    ],
    ['one that contains itself', true, kid],
    ['references by a name', true, { $defs: { x: { $anchor: 'x' } }, $ref: '#x' }],
  ])('of %s: %s', (_what, multiplies, described) => {
    expect(costOf(described as never).multiplies).toBe(multiplies)
  })

  it.each<[string, z.ZodType, string]>([
    ['no patterns', z.object({ a: z.string() }), 'parts'],
    ['an e-mail address', z.object({ a: z.email() }), 'parts and text'],
    ['an unsafe pattern', z.string().regex(/^(a+)+$/), 'all'],
  ])("of a library's schema with %s", (_what, described, care) => {
    expect(libraryCost(z.toJSONSchema(described) as never).care).toBe(care)
  })
})

describe('the guard', () => {
  it('hands on values and exceptions', () => {
    const guard = createGuard()

    expect(guard(1_000, () => guard(1_000, () => 7))).toBe(7)
    expect(() => guard(1_000, () => JSON.parse('{'))).toThrow(SyntaxError)
  })

  it('stops what does not end, within a regular expression as well, and goes on working', () => {
    const guard = createGuard()

    expect(() => guard(1, () => /^(a+)+$/.test(`${'a'.repeat(60)}!`))).toThrow(TooCostly)
    expect(() =>
      guard(1, () => {
        for (;;);
      }),
    ).toThrow(TooCostly)
    expect(guard(1_000, () => 7)).toBe(7)
  })
})

it('many small hostile values cost less and less, and honest ones still pass', () => {
  const check = createBoundedCheck({ pattern: '^(?=(a+)+$)a' })
  const costOfEvil = () => {
    const before = process.cpuUsage()
    expect(() => check(`${'a'.repeat(60)}!`)).toThrow(TooCostly)
    return process.cpuUsage(before).user
  }

  const first = costOfEvil()
  for (let stops = 0; stops < 4; stops++) costOfEvil()
  const later = Math.min(costOfEvil(), costOfEvil(), costOfEvil())

  expect(later).toBeLessThan(first / 2)
  expect(check('aaa')).toBeUndefined()
})

it('the log names schemas that run under a time limit', async () => {
  const lines: LogLine[] = []
  const site = await startSite({
    operations: [
      operation('v1:odd.looking', { args: { properties: { a: { pattern: '^(?=(a+)+$)a' } } }, run: () => 1 }),
      operation('v1:odd.library', { args: z.object({ a: z.string().regex(/^(a+)+$/) }), run: () => 1 }),
      operation('v1:even', { args: z.object({ a: z.string().regex(/^a+$/) }), run: () => 1 }),
    ],
    log: createMemoryLog(lines),
  })
  const told = () => lines.filter(({ message }) => message.includes('time limit')).map((line) => line.fields.operation)
  expect(told()).toEqual(['v1:odd.looking'])

  for (const name of ['v1:odd.library', 'v1:odd.library', 'v1:even']) await site.call(name, { a: 'aaa' })

  expect(told()).toEqual(['v1:odd.looking', 'v1:odd.library'])
})
