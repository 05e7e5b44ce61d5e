import { expect, test } from 'vitest'
import { BriefMap } from '../../src/core/fairness/brief-map.ts'

test('an entry is in the map until it is deleted, in the order of insertion', () => {
  const map = new BriefMap<number>()
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
    ['a', 4],
  ] as const)
    map.set(key, value)

  map.delete('b')
  map.delete('nobody')

  expect([map.size, map.first, map.values()]).toEqual([2, 'a', [4, 3]])
  expect([map.get('a'), map.get('b'), map.has('c'), map.has('b')]).toEqual([4, undefined, true, false])
})

test('entries that stay are kept, in their order, while many others come and go', () => {
  const map = new BriefMap<number>()
  for (let key = 0; key < 100; key++) map.set(`stays ${key}`, key)

  for (let key = 0; key < 1_000; key++) {
    map.set(`brief ${key}`, key)
    expect(map.delete(`brief ${key}`)).toBe(true)
  }

  expect(map.delete('brief 1')).toBe(false)
  expect([map.size, map.first]).toEqual([100, 'stays 0'])
  expect(map.values()).toEqual(Array.from({ length: 100 }, (_, key) => key))
})
