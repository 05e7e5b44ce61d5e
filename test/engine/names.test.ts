/** Operation names and versions: which are valid, and how versions compare. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareVersions, isName, lineageOf, parseName, parseVersion } from '../../src/core/operation/names.ts'
import { verifies } from '../requirements.ts'

const segment = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,20}$/)
const parts = fc.record({
  major: fc.integer({ min: 1, max: 999_999_999 }),
  namespace: fc.option(
    fc.array(segment, { minLength: 1, maxLength: 4 }).map((all) => all.join('.')),
    {
      nil: undefined,
    },
  ),
  base: segment,
})
const version = fc.tuple(fc.nat(), fc.nat(), fc.nat())

test('a name is taken apart into what it was put together from', () => {
  verifies('opencall:011', 'opencall:017')
  fc.assert(
    fc.property(parts, ({ major, namespace, base }) => {
      const lineage = namespace === undefined ? base : `${namespace}.${base}`
      const full = `v${major}:${lineage}`

      const name = parseName(full)

      expect(name).toEqual({ full, major, base, ...(namespace !== undefined && { namespace }) })
      expect(lineageOf(name)).toBe(lineage)
      expect(isName(full)).toBe(true)
    }),
  )
})

test.each([
  ['no version', 'orders.getItem'],
  ['version zero', 'v0:orders.getItem'],
  ['a leading zero', 'v01:orders.getItem'],
  ['a negative version', 'v-1:orders.getItem'],
  ['a fraction', 'v1.2:orders.getItem'],
  ['a capital V', 'V1:orders.getItem'],
  ['a version without a number', 'v:orders.getItem'],
  ['no colon', 'v1orders.getItem'],
  ['nothing behind the version', 'v1:'],
  ['an empty namespace', 'v1:.getItem'],
  ['an empty segment', 'v1:orders..getItem'],
  ['a dot at the end', 'v1:orders.'],
  ['a digit first', 'v1:1st'],
  ['letters beyond ASCII', 'v1:größe'],
  ['digits beyond ASCII', 'v١:orders'],
  ['white space', 'v1:orders getItem'],
  ['a line break at the end', 'v1:orders\n'],
  ['a slash', 'v1:orders/getItem'],
  ['an @', 'v1:orders@1.0.0'],
  ['more than 200 characters', `v1:${'a'.repeat(198)}`],
  ['a version beyond nine digits', 'v1000000000:orders'],
])('%s is refused, with an example of how to write it', (_what, text) => {
  verifies('opencall:012')

  expect(isName(text)).toBe(false)
  expect(() => parseName(text)).toThrow(/such as v1:orders\.getItem/)
})

test('a name of 200 characters is taken', () => {
  expect(isName(`v1:${'a'.repeat(197)}`)).toBe(true)
})

test('for any text, both parsers agree and a refusal is a short fault', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), fc.stringMatching(/^v\d*:[\w.:-]*$/)),
      (text) => {
        try {
          expect(parseName(text).full).toBe(text)
          expect(isName(text)).toBe(true)
        } catch (thrown) {
          expect(thrown).toMatchObject({ kind: 'malformed', code: 'INVALID_NAME' })
          expect((thrown as Error).message.length).toBeLessThan(400)
          expect(isName(text)).toBe(false)
        }
      },
    ),
  )
})

test('versions compare number by number, the first difference counts', () => {
  const first = (a: readonly number[], b: readonly number[]) =>
    a.map((part, at) => Math.sign(part - (b[at] ?? 0))).find((sign) => sign !== 0) ?? 0
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(parseVersion(a.join('.'))).toEqual(a)
      expect(Math.sign(compareVersions(a.join('.'), b.join('.')))).toBe(first(a, b))
    }),
  )
  expect(compareVersions('1.10.0', '1.9.0')).toBeGreaterThan(0)
})

test.each(['1', '1.2', '1.2.3.4', '01.2.3', '1.2.x', 'v1.2.3', '1.2.3-beta', ' 1.2.3', '1.2.3\n', '-1.0.0', ''])(
  '%j is no full version',
  (text) => {
    expect(() => parseVersion(text)).toThrow(/three numbers, such as 1\.2\.0/)
  },
)
