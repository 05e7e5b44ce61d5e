import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { createPattern } from '../../src/security/policy/pattern.ts'
import { aCaller, decide } from './policy-calls.ts'

const ARGS: JsonObject = {
  amount: 150,
  note: 'pay *now*',
  empty: null,
  order: { 'a.b': 1, tags: ['x', { deep: true }] },
  to: ['ann@example.com', 'bob@other.example'],
  items: [
    { price: 5, kind: 'book' },
    { price: 50, kind: 'pen' },
  ],
}

const holds = (when: object) =>
  decide({ default: 'allow', rules: [{ id: 'r', effect: 'deny', when }] }, 'v1:a', aCaller('ann'), ARGS)?.verdict ===
  'deny'

test.each<[object, boolean]>([
  [{ path: 'amount', equals: 150 }, true],
  [{ path: 'amount', equals: '150' }, false],
  [{ path: 'empty', equals: null }, true],
  [{ path: 'order', equals: { tags: ['x', { deep: true }], 'a.b': 1 } }, true],
  [{ path: 'order', equals: { tags: ['x', { deep: true }] } }, false],
  [{ path: '/order/a.b', equals: 1 }, true],
  [{ path: 'order.tags.1.deep', equals: true }, true],
  [{ path: 'amount', in: [1, 150] }, true],
  [{ path: 'amount', in: [1, '150'] }, false],
  [{ path: 'order.tags', includes: { deep: true } }, true],
  [{ path: 'note', includes: 'pay' }, false],
  [{ path: 'note', matches: 'pay \\*now*' }, true],
  [{ path: 'note', matches: ['x*', '*later'] }, false],
  [{ path: 'amount', matches: '1*' }, false],
  [{ path: 'amount', gt: 100, lte: 150 }, true],
  [{ path: 'amount', gte: 151 }, false],
  [{ path: 'amount', lt: 150 }, false],
  [{ path: 'note', gt: 0 }, false],
  [{ path: 'missing', exists: false }, true],
  [{ path: 'empty', exists: true }, true],
  [{ path: 'missing.deeper', exists: true }, false],
  [{ path: 'constructor', exists: true }, false],
  [{ path: 'to.length', exists: true }, false],
  [{ path: 'missing', lt: 1 }, false],
  [{ path: 'note', length: { gt: 3, lt: 10 } }, true],
  [{ path: 'to', length: { equals: 3 } }, false],
  [{ path: 'to', every: { matches: '*@example.com' } }, false],
  [{ path: 'to', some: { matches: '*@example.com' } }, true],
  [
    {
      path: 'items',
      some: {
        all: [
          { path: 'price', gt: 10 },
          { path: 'kind', equals: 'pen' },
        ],
      },
    },
    true,
  ],
  [
    {
      path: 'items',
      some: {
        all: [
          { path: 'price', gt: 10 },
          { path: 'kind', equals: 'book' },
        ],
      },
    },
    false,
  ],
  [{ path: 'items', every: { not: { path: 'price', gt: 50 } } }, true],
  [
    {
      path: 'items',
      every: {
        any: [
          { path: 'price', gt: 10 },
          { path: 'kind', equals: 'book' },
        ],
      },
    },
    true,
  ],
  [{ path: 'note', every: { exists: true } }, false],
  [
    {
      all: [
        { path: 'amount', gt: 100 },
        { path: 'note', equals: 'x' },
      ],
    },
    false,
  ],
  [
    {
      any: [
        { path: 'amount', equals: 1 },
        { path: 'note', matches: 'pay*' },
      ],
    },
    true,
  ],
  [{ not: { path: 'missing', gt: 1 } }, true],
])('%j is %s of the arguments', (when, expected) => {
  expect(holds(when)).toBe(expected)
})

test.each<[string, string, boolean]>([
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*', '', true],
  ['a*b*c', 'aXbXbXc', true],
  ['a*bc*c', 'abc', false],
  ['\\\\*', '\\x', true],
  ['a\\b', 'a\\b', true],
  ['a.c', 'abc', false],
])('the pattern %s, put to %j, says %s', (pattern, text, expected) => {
  expect(createPattern(pattern).fits(text)).toBe(expected)
})

// As a regular expression this would not come back in a lifetime: the test ends or it does not.
test('a text made to be hard to match is not', () => {
  const pattern = createPattern(`${'a*'.repeat(50)}b`)

  expect(pattern.fits('a'.repeat(100_000))).toBe(false)
})
