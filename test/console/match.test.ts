/** The palette's search: what people mean is first, also among ten thousand names. */
import { expect, test } from 'vitest'
import { candidateOf, search } from '../../console/src/shell/match.ts'

const names = ['v1:orders.find', 'v1:orders.refund', 'v1:refunds.list', 'v2:orders.refund', 'v1:Reports.Generate']
const candidates = names.map((name) => candidateOf(name, name))

test('whole words come before parts, and all words must occur', () => {
  expect(search('refund', candidates, 9)).toEqual(['v1:orders.refund', 'v2:orders.refund', 'v1:refunds.list'])
  expect(search('v2 refund', candidates, 9)[0]).toBe('v2:orders.refund')
  expect(search('orders nothing', candidates, 9)).toEqual([])
})

test('first letters find a name, and scattered letters do not', () => {
  expect(search('rg', candidates, 9)).toEqual(['v1:Reports.Generate'])
  expect(search('xyz', candidates, 9)).toEqual([])
})

test('an empty query shows the first names', () => {
  expect(search('', candidates, 2)).toEqual(['v1:orders.find', 'v1:orders.refund'])
})

test('any of ten thousand operations is the first result of its own name', () => {
  const many = Array.from({ length: 10_000 }, (_, n) => `v1:area${n % 97}.thing${n}.act`)
  const all = many.map((name) => candidateOf(name, name))
  for (const n of [0, 1, 4_711, 9_999]) expect(search(`thing${n} act`, all, 50)[0]).toBe(many[n])
})
