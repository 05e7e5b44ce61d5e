/**
 * A program with many operations stays cheap to type-check. The test counts instantiations, which are the same on every
 * machine.
 */
import { expect, test } from 'vitest'
import { BASELINE, describeTypeCost, measureTypeCosts, type TypeCost } from '../../scripts/type-cost.ts'

test('500 operations cost the type checker at most a tenth more than the baseline', { timeout: 300_000 }, () => {
  const [some, many] = measureTypeCosts([100, 500]) as [TypeCost, TypeCost]

  console.log(`${describeTypeCost(some, BASELINE[100])}\n${describeTypeCost(many, BASELINE[500])}`)
  expect([some, many].flatMap(({ problems }) => problems)).toEqual([])
  expect(some.instantiations).toBeLessThan(BASELINE[100] * 1.1)
  expect(many.instantiations).toBeLessThan(BASELINE[500] * 1.1)
})
