/** A program with many operations must stay cheap to check. Counted in instantiations: the same on every machine. */
import { expect, test } from 'vitest'
import { measureTypeCosts, type TypeCost } from '../../scripts/type-cost.ts'

test('each further operation costs the type checker the same, and little', { timeout: 120_000 }, () => {
  const [few, some, many] = measureTypeCosts([20, 60, 100]) as [TypeCost, TypeCost, TypeCost]

  expect([few, some, many].flatMap(({ problems }) => problems)).toEqual([])
  const first = (some.instantiations - few.instantiations) / 40
  const second = (many.instantiations - some.instantiations) / 40
  expect(second).toBeLessThan(first * 1.02)
  // 1,005 when this was written, over four kinds of schema; arktype's own share is more than half of it.
  expect(second).toBeLessThan(1_300)
})
