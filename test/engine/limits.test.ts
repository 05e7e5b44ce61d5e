/** Limits count correctly in every order of events, and report the correct time to retry. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Operation } from '../../src/core/operation/operation.ts'
import { DEFAULT_LIMITS, type LimitRules } from '../../src/engine/limits/limit-rules.ts'
import { Limits } from '../../src/engine/limits/limits.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'

const ADA = { tenant: 'main', owner: 'none|ada' }
const BOB = { tenant: 'main', owner: 'none|bob' }
/** Another caller with the same issuer and subject. */
const ADA_ELSEWHERE = { tenant: 'other', owner: 'none|ada' }
const OPERATIONS = [
  { key: 'v1:one@1.0.0', concurrency: 1 },
  { key: 'v1:two@1.0.0', concurrency: 2 },
  { key: 'v1:any@1.0.0' },
]
const operations = OPERATIONS as unknown as readonly Operation[]

function createLimits(rules: Partial<LimitRules> = {}) {
  const clock = createManualClock()
  return { clock, limits: new Limits({ ...DEFAULT_LIMITS, ...rules }, clock) }
}

function refusalOf(act: () => void): { code: string; retryAfterMs: number } | undefined {
  try {
    act()
    return undefined
  } catch (thrown) {
    return thrown as { code: string; retryAfterMs: number }
  }
}

test('running work never passes a bound and every end gives its slot back', () => {
  const steps = fc.array(fc.record({ start: fc.boolean(), which: fc.nat({ max: 2 }) }), { maxLength: 200 })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (all, runningCalls) => {
      const { limits } = createLimits({ runningCalls })
      const running: Operation[] = []
      const count = (operation: Operation) => running.filter((each) => each === operation).length

      for (const { start, which } of all) {
        const operation = operations[which] as Operation
        const free = running.length < runningCalls && count(operation) < (operation.concurrency ?? Infinity)
        expect(limits.hasSlot(operation, ADA)).toBe(free)
        if (start && free) {
          limits.started(operation, ADA)
          running.push(operation)
        } else if (!start && running.length > 0) {
          const [ended] = running.splice(which % running.length, 1) as [Operation]
          limits.ended(ended, ADA)
        }
        expect(limits.running).toBe(running.length)
        const bounded = operations.filter((each) => each.concurrency !== undefined)
        expect(limits.slotsOf(bounded)).toEqual(
          new Map(bounded.map((each) => [each.key, (each.concurrency as number) - count(each)])),
        )
      }
      for (const operation of running) limits.ended(operation, ADA)
      expect([limits.running, ...operations.map((each) => limits.hasSlot(each, ADA))]).toEqual([0, true, true, true])
    }),
  )
})

test('counts of open and queued calls are never negative, and the store has the last word', () => {
  const step = fc.constantFrom('opened', 'closed', 'enqueued', 'dequeued', 'adjust')
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.nat({ max: 1 })), { maxLength: 100 }), (steps) => {
      const { limits } = createLimits()
      for (const [what, which] of steps) {
        const who = which === 0 ? ADA : ADA_ELSEWHERE
        if (what === 'adjust') {
          limits.adjust({ queued: which, byOperation: new Map(), byOwner: [[who.tenant, who.owner, 3]] })
          expect([limits.open, limits.queued]).toEqual([3, which])
        } else if (what === 'opened' || what === 'closed') limits[what](who)
        else limits[what](ADA)
        expect(limits.open).toBeGreaterThanOrEqual(0)
        expect(limits.queued).toBeGreaterThanOrEqual(0)
      }
    }),
  )
})

test('a caller with too many open calls is refused, another is not, and ended calls free their places', () => {
  const { limits } = createLimits({ openCallsPerCaller: 2 })
  limits.opened(ADA)
  limits.opened(ADA)

  expect(refusalOf(() => limits.requireRoom(ADA, false))).toMatchObject({
    kind: 'overloaded',
    code: 'TOO_MANY_OPEN_CALLS',
  })
  expect(refusalOf(() => limits.requireRoom(BOB, true))).toBe(undefined)
  expect(refusalOf(() => limits.requireRoom(ADA_ELSEWHERE, true))).toBe(undefined)
  limits.closed(ADA)
  expect(refusalOf(() => limits.requireRoom(ADA, false))).toBe(undefined)
})

test('a full queue refuses a call that would have to wait', () => {
  const { limits } = createLimits({ queuedCalls: 1 })
  limits.enqueued(ADA)

  expect(refusalOf(() => limits.requireRoom(BOB, true))).toMatchObject({
    code: 'QUEUE_FULL',
    retryAfterMs: 1_000,
  })
  expect(refusalOf(() => limits.requireRoom(BOB, false))).toBe(undefined)
})

test('over any stretch of time a caller gets the burst and the rate, no more and no less', () => {
  const bursts = fc.record({
    callsPerSecond: fc.integer({ min: 1, max: 700 }),
    callBurst: fc.integer({ min: 1, max: 20 }),
  })
  fc.assert(
    fc.property(bursts, fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 80 }), (rules, pauses) => {
      const { limits, clock } = createLimits(rules)
      const taken: number[] = []
      for (const pause of pauses) {
        clock.advance(pause)
        const refused = refusalOf(() => limits.rates.countCall('main', 'none|ada'))
        if (!refused) taken.push(clock.now())
        else {
          expect(refused).toMatchObject({ kind: 'rate-limited' })
          expect(refused.retryAfterMs).toBeGreaterThan(0)
          expect(refused.retryAfterMs).toBeLessThanOrEqual(Math.ceil(1_000 / rules.callsPerSecond))
        }
      }
      taken.forEach((from, first) => {
        taken.slice(first).forEach((to, more) => {
          // The clock counts whole milliseconds, so half a millisecond makes no difference.
          const allowed = rules.callBurst + ((to - from + 0.5) * rules.callsPerSecond) / 1_000
          expect(more + 1).toBeLessThanOrEqual(allowed + 1e-6)
        })
      })
    }),
  )
})

test('a caller that waits for the stated time is admitted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 1, max: 20 }), (callsPerSecond, callBurst) => {
      const { limits, clock } = createLimits({ callsPerSecond, callBurst })
      for (let call = 0; call < callBurst; call++) limits.rates.countCall('main', 'none|ada')

      const refused = refusalOf(() => limits.rates.countCall('main', 'none|ada'))
      expect(refusalOf(() => limits.rates.countCall('main', 'none|bob'))).toBe(undefined)
      expect(refusalOf(() => limits.rates.countCall('other', 'none|ada'))).toBe(undefined)
      clock.advance(refused?.retryAfterMs ?? 0)

      expect(refused).toBeDefined()
      expect(refusalOf(() => limits.rates.countCall('main', 'none|ada'))).toBe(undefined)
    }),
  )
})

test('a poll every 100 ms, and a first poll, are never too many', () => {
  const { limits, clock } = createLimits()

  for (let poll = 0; poll < 1_000; poll++) {
    limits.rates.countPoll(ADA, 'r1')
    limits.rates.countPoll(ADA, `other-${poll}`)
    clock.advance(100)
  }
})
