/** The hashes that the index of request ids uses. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HashFilter } from '../../src/stores/sqlite/requests/hash-filter.ts'
import { HashTable } from '../../src/stores/sqlite/requests/hash-table.ts'
import { hashRequest } from '../../src/stores/sqlite/requests/request-hash.ts'

const SEEDS = { a: 1, b: 2 }

/** Few, so that some come twice, and some that only differ where a table does not look first. */
const hash = fc.oneof(
  fc.integer({ min: 0, max: 8 }),
  fc.integer({ min: 0, max: 8 }).map((n) => n * 2 ** 32 + 5),
  fc.constant(Number.MAX_SAFE_INTEGER),
)

test('a table has the last value of each hash, even if others have the same slot', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(hash, fc.nat())), (entries) => {
      const table = new HashTable()
      for (const [key, value] of entries) table.set(key, value)
      const expected = new Map(entries)

      expect(table.size).toBe(expected.size)
      expect([...table.hashes()].sort()).toEqual([...expected.keys()].sort())
      for (let n = 0; n < 9; n++) {
        for (const key of [n, n * 2 ** 32 + 5]) {
          expect([table.has(key), table.get(key)]).toEqual([expected.has(key), expected.get(key)])
        }
      }
    }),
  )
})

test('a table grows with what it holds', () => {
  const table = new HashTable()
  for (let n = 0; n < 10_000; n++) table.set(n * 1_024, n)

  expect(table.size).toBe(10_000)
  for (let n = 0; n < 10_000; n++) expect(table.get(n * 1_024)).toBe(n)
  expect(table.get(10_000 * 1_024)).toBe(undefined)
})

test('a filter never rules out a present hash, and rules out most absent ones', () => {
  const filter = new HashFilter(10_000)
  const hashOf = (n: number) => hashRequest(SEEDS, 1, `r${n}`)
  for (let n = 0; n < 10_000; n++) filter.add(hashOf(n))

  for (let n = 0; n < 10_000; n++) expect(filter.mayHave(hashOf(n))).toBe(true)
  let perhaps = 0
  for (let n = 10_000; n < 20_000; n++) if (filter.mayHave(hashOf(n))) perhaps++
  expect(perhaps).toBeLessThan(1_000)
})

test('a filter is full before it says "perhaps" of every other', () => {
  const filter = new HashFilter(0)
  const hashOf = (n: number) => hashRequest(SEEDS, 1, `r${n}`)
  let added = 0
  while (!filter.isFull) filter.add(hashOf(added++))

  let perhaps = 0
  for (let n = added; n < added + 10_000; n++) if (filter.mayHave(hashOf(n))) perhaps++
  expect(perhaps).toBeLessThan(2_000)
})

test('hashes are whole numbers that a double holds, and differ by owner, request id and seed', () => {
  const hashes = new Set<number>()
  for (let owner = 0; owner < 20; owner++) {
    for (let n = 0; n < 5_000; n++) hashes.add(hashRequest(SEEDS, owner, `${n}`))
  }
  for (const seeds of [
    { a: 2, b: 2 },
    { a: 1, b: 3 },
  ]) {
    for (let n = 0; n < 5_000; n++) hashes.add(hashRequest(seeds, 1, `${n}`))
  }

  expect(hashes.size).toBe(110_000)
  for (const one of hashes) if (!Number.isSafeInteger(one) || one < 0) expect(one).toBe('a safe integer')
})
