/** Incoming JSON has one meaning or is refused. JSON used as a key has one text for each value. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, type JsonValue } from '../../src/core/json.ts'
import { parseJsonText } from '../../src/wire/strict-json.ts'

/** As JSON has it: -0 is 0, and objects have no prototype tricks. */
const json = fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue)
const keys = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'a', ''))
const objects = fc.dictionary(keys, json, { minKeys: 1, maxKeys: 6, noNullPrototype: true })

const REFUSED_BY_CHOICE = ['DUPLICATE_KEY', 'TOO_DEEP', 'INVALID_UNICODE', 'NUMBER_TOO_LARGE']

function codeOf(text: string): string | undefined {
  try {
    parseJsonText(text)
    return undefined
  } catch (thrown) {
    expect(thrown).toMatchObject({ name: 'Fault', kind: 'malformed' })
    return (thrown as { code: string }).code
  }
}

test('JSON is read back unchanged, with any white space', () => {
  fc.assert(
    fc.property(json, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      expect(parseJsonText(JSON.stringify(value, null, indent))).toEqual(value)
    }),
  )
})

test('text of any kind is read as JSON.parse reads it, or refused with a fault', () => {
  const damaged = fc
    .tuple(json, fc.nat(), fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ':', ',', 'x', '\\u0061', '\ud800'))
    .map(([value, at, damage]) => {
      const text = JSON.stringify(value)
      const cut = at % (text.length + 1)
      return text.slice(0, cut) + damage + text.slice(cut + 1)
    })
  fc.assert(
    fc.property(fc.oneof(damaged, fc.string({ unit: 'binary' })), (text) => {
      const code = codeOf(text)
      if (code === undefined) expect(parseJsonText(text)).toEqual(JSON.parse(text))
      else if (!REFUSED_BY_CHOICE.includes(code)) expect(() => JSON.parse(text)).toThrow(SyntaxError)
    }),
    { numRuns: 500 },
  )
})

test('a key that comes twice is refused, however it is spelled and wherever it is', () => {
  const escaped = (key: string) =>
    `"${[...key]
      .map((c) =>
        c
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join(''),
      )
      .join('')}"`
  fc.assert(
    fc.property(objects, fc.nat(), fc.boolean(), json, (object, pick, spellOut, wrapper) => {
      const all = Object.keys(object)
      const key = all[pick % all.length] as string
      const again = spellOut ? escaped(key) : JSON.stringify(key)
      const text = JSON.stringify(object)

      const twice = `${text.slice(0, -1)},${again}:0}`

      expect(codeOf(`[${JSON.stringify(wrapper)},${twice}]`)).toBe('DUPLICATE_KEY')
      expect(codeOf(text)).toBe(undefined)
    }),
  )
  expect(codeOf('{"a":1,"\\u0061":2}')).toBe('DUPLICATE_KEY')
})

test('colons, brackets and quotes inside strings mean nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(':', '{', '[', '"', '\\', '\\"', '}', ']', 'é')), (marks) => {
      const value = { [marks.join('')]: marks.join('').repeat(40), other: [marks.join('')] }

      expect(parseJsonText(JSON.stringify(value))).toEqual(value)
    }),
  )
})

test('a string that looks like a key neither hides one that comes twice nor counts as one', () => {
  for (const looks of ['\\":', ' :', 'a\\":b :c', '\\n:']) {
    expect(codeOf(`{"a":"${looks}","b":1}`)).toBe(undefined)
    expect(codeOf(`{"a":"${looks}","a":1}`)).toBe('DUPLICATE_KEY')
    expect(codeOf(`{"${looks}":1,"${looks}":1}`)).toBe('DUPLICATE_KEY')
    expect(codeOf(`{"a" :"${looks}","a"\n:1}`)).toBe('DUPLICATE_KEY')
    expect(codeOf(`{"a":"${looks}","b":1e309}`)).toBe('NUMBER_TOO_LARGE')
  }
})

test('the first error in a body is reported, even if there are others', () => {
  const deep = `${'['.repeat(65)}0${']'.repeat(65)}`
  for (const space of ['', ' '.repeat(20_000)]) {
    expect(codeOf(`{"a":${deep},"a":1}${space}`)).toBe('TOO_DEEP')
    expect(codeOf(`{"a":1e309,"b":${deep}}${space}`)).toBe('TOO_DEEP')
    expect(codeOf(`{"a":${deep}${space}`)).toBe('TOO_DEEP')
    expect(codeOf(`{"a":1e309,"b":1,"b":1}${space}`)).toBe('NUMBER_TOO_LARGE')
  }
})

test('64 levels are taken, 65 refused, and ten million do no harm', () => {
  const nested = (depth: number, open = '[', close = ']') => `${open.repeat(depth)}0${close.repeat(depth)}`

  expect(codeOf(nested(64))).toBe(undefined)
  expect(codeOf(nested(65))).toBe('TOO_DEEP')
  expect(codeOf(nested(64, '{"a":', '}'))).toBe(undefined)
  expect(codeOf(nested(65, '{"a":', '}'))).toBe('TOO_DEEP')
  expect(codeOf('['.repeat(10_000_000))).toBe('TOO_DEEP')
})

test('half of a surrogate pair is refused as a value and as a key, a whole pair is taken', () => {
  expect(codeOf('{"a":"\\ud83d\\ude00"}')).toBe(undefined)
  expect(parseJsonText('"\\ud83d\\ude00"')).toBe('😀')
  for (const text of ['{"a":"\\ud83d"}', '["\\uDE00"]', '{"\\ud83d":1}', '"\\ude00\\ud83d"'])
    expect(codeOf(text)).toBe('INVALID_UNICODE')
})

test('__proto__ is a key like any other and changes no prototype', () => {
  const value = parseJsonText('{"__proto__":{"admin":true},"constructor":1}') as Record<string, unknown>

  expect(Object.keys(value)).toEqual(['__proto__', 'constructor'])
  expect(value.admin).toBe(undefined)
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(canonicalJson(value as JsonValue)).toBe('{"__proto__":{"admin":true},"constructor":1}')
})

test('a number that no double holds is refused, since it could not be stored as it was sent', () => {
  expect(codeOf('{"a":1e308}')).toBe(undefined)
  expect(codeOf('{"a":[1e309]}')).toBe('NUMBER_TOO_LARGE')
  expect(codeOf('-1e309')).toBe('NUMBER_TOO_LARGE')
})

test('equal values have one canonical text, in any order of keys', () => {
  const shuffled = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(shuffled)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, item]) => [key, shuffled(item)]),
    )
  }
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value)

      expect(canonicalJson(shuffled(value))).toBe(text)
      expect(JSON.parse(text)).toEqual(value)
    }),
  )
})

test('a value with sorted keys has the same text as after sorting', () => {
  const byTheBook = (value: JsonValue): string => {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map(byTheBook).join(',')}]`
    const keys = Object.keys(value).sort()
    return `{${keys.map((key) => `${JSON.stringify(key)}:${byTheBook(value[key] as JsonValue)}`).join(',')}}`
  }
  // A few keys, some of them numbers, so that many objects are in order and many are not.
  const key = fc.constantFrom('a', 'b', 'c', '1', '9', '10', '__proto__', 'toJSON', 'é', '"')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, json, fc.array(tie('value')), fc.dictionary(key, tie('value'))),
  }))
  fc.assert(
    fc.property(value as fc.Arbitrary<JsonValue>, (given) => {
      expect(canonicalJson(given)).toBe(byTheBook(given))
    }),
    { numRuns: 500 },
  )
})

test('different values have different texts', () => {
  const small = fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue)
  fc.assert(
    fc.property(small, small, (a, b) => {
      expect(canonicalJson(a) === canonicalJson(b)).toBe(isDeepStrictEqual(a, b))
    }),
    { numRuns: 500 },
  )
  expect(canonicalJson(['1', 1, null, 'null', [1, 2], [[1], 2]])).toBe('["1",1,null,"null",[1,2],[[1],2]]')
})
