/** When a failed attempt is retried: limited by the rules, and never before the time that the failure sets. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FaultRecord } from '../../src/core/fault.ts'
import { retryDelay } from '../../src/engine/run/retry.ts'

const rules = fc.record(
  {
    attempts: fc.integer({ min: 1, max: 50 }),
    backoffMs: fc.integer({ min: 0, max: 100_000 }),
    maxBackoffMs: fc.integer({ min: 0, max: 1_000_000 }),
    jitter: fc.constantFrom('none' as const, 'full' as const, 'equal' as const),
  },
  { requiredKeys: ['attempts'] },
)
const faults = fc.record(
  {
    kind: fc.constant('upstream' as const),
    code: fc.constant('UPSTREAM'),
    message: fc.constant('No answer.'),
    retryable: fc.boolean(),
    retryAfterMs: fc.nat({ max: 1_000_000 }),
  },
  { requiredKeys: ['kind', 'code', 'message', 'retryable'] },
)
const failures = fc.integer({ min: 1, max: 60 })
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

const RETRYABLE: FaultRecord = { kind: 'upstream', code: 'UPSTREAM', message: 'No answer.', retryable: true }

test('a failure is tried again exactly while it may be and attempts are left', () => {
  fc.assert(
    fc.property(rules, failures, faults, chance, (rule, failed, fault, random) => {
      const delay = retryDelay(rule, failed, fault, () => random)

      expect(delay !== undefined).toBe(fault.retryable && failed < rule.attempts)
    }),
  )
})

test('a delay is never below what the failure asks for, nor above the cap where it asks for nothing', () => {
  fc.assert(
    fc.property(rules, failures, faults, chance, (rule, failed, fault, random) => {
      const delay = retryDelay(rule, failed, fault, () => random)
      fc.pre(delay !== undefined)

      expect(Number.isInteger(delay)).toBe(true)
      expect(delay).toBeGreaterThanOrEqual(fault.retryAfterMs ?? 0)
      expect(delay).toBeLessThanOrEqual(Math.max(rule.maxBackoffMs ?? 30_000, fault.retryAfterMs ?? 0))
    }),
  )
})

test('jitter takes away at most all of the delay, or half of it, and adds nothing', () => {
  fc.assert(
    fc.property(rules, failures, chance, (rule, failed, random) => {
      const [none, full, equal] = (['none', 'full', 'equal'] as const).map((jitter) =>
        retryDelay({ ...rule, jitter }, failed, RETRYABLE, () => random),
      )
      fc.pre(none !== undefined && full !== undefined && equal !== undefined)

      expect(full).toBeLessThanOrEqual(none)
      expect(equal).toBeLessThanOrEqual(none)
      expect(equal).toBeGreaterThanOrEqual(Math.floor(none / 2))
    }),
  )
})

test('delays double until the cap', () => {
  const rule = { attempts: 7, backoffMs: 100, maxBackoffMs: 1_000 }
  const delays = [1, 2, 3, 4, 5, 6, 7].map((failed) => retryDelay(rule, failed, RETRYABLE, () => 0.5))

  expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000, undefined])
})
