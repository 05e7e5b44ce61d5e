import { expect, test } from 'vitest'
import { seeded } from '../crash/wishes.ts'
import { FAULTS, type FaultKind } from './faults.ts'
import { planFaults } from './schedule.ts'

const plan = (seed: number) => planFaults({ faults: 1_000, ms: 3_600_000, random: seeded(seed) })

test('the same seed plans the same faults, and another seed plans others', () => {
  expect(plan(1)).toEqual(plan(1))
  expect(plan(1)).not.toEqual(plan(2))
})

test('an hour has every kind of fault, and more than a hundred kills and failovers', () => {
  const names = plan(1).map(({ name }) => name)

  expect(new Set(names)).toEqual(new Set(Object.keys(FAULTS)))
  expect(names.filter((name) => (FAULTS[name] as FaultKind).isKill).length).toBeGreaterThan(100)
})
