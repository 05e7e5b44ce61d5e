/** A slot that becomes free wakes a waiting call that may use it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SlotShares } from '../../src/core/fairness/slot-shares.ts'
import { completeOperation } from '../../src/core/operation/defaults.ts'
import { operation } from '../../src/core/operation/define.ts'
import { DEFAULT_LIMITS } from '../../src/engine/limits/limit-rules.ts'
import { Limits } from '../../src/engine/limits/limits.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { settled } from './node.ts'

const CALLERS = Array.from({ length: 12 }, (_, i) => ({ tenant: `t${i % 5}`, owner: `o${i}` }))
const caller = fc.constantFrom(...CALLERS)
/** Some call much more than others. */
const skewedCaller = fc.oneof(caller, fc.constantFrom(...CALLERS.slice(0, 3)))

const anyHistory = fc.record({
  slots: fc.integer({ min: 1, max: 72 }),
  asking: fc.array(skewedCaller, { minLength: 80, maxLength: 240 }),
  /** Which of those that run then end, one after the other. */
  ending: fc.array(fc.nat(), { minLength: 1, maxLength: 16 }),
})

test('if the end of a call reports that no caller can be admitted, no refused caller is admitted', () => {
  fc.assert(
    fc.property(anyHistory, ({ slots, asking, ending }) => {
      const shares = new SlotShares(slots)
      const running = asking.filter((who) => {
        const admitted = shares.admits(who)
        if (admitted) shares.take(who)
        return admitted
      })

      for (const nth of ending) {
        const refused = CALLERS.filter((who) => !shares.admits(who))
        const [ended] = running.splice(nth % running.length, 1)
        if (!ended) return
        if (!shares.give(ended)) expect(refused.filter((who) => shares.admits(who))).toEqual([])
      }
    }),
    { numRuns: 500 },
  )
})

// With 24 slots the last 3 are the reserve.
test.each([
  ['a call of another', 21, 'o0'],
  ['its own first call', 22, 'waiting'],
])('a caller who waits for a slot of the reserve has it when %s ends', async (_whose, others, ending) => {
  const limits = new Limits({ ...DEFAULT_LIMITS, runningCalls: 24 }, createManualClock())
  const definition = operation('v1:work', { run: () => null })
  const work = completeOperation(definition, prepareSchemas(definition), { kind: 'handler', execute: () => null })
  const named = (owner: string) => ({ tenant: `of ${owner}`, owner })
  limits.take(work, named('waiting'))
  for (let i = 0; i < others; i++) limits.take(work, named(`o${i}`))
  const atFirst = limits.hasSlot(work, named('waiting'))
  let started: boolean | undefined
  void limits.waitForSlot(work, named('waiting'), 1_000).then((taken) => {
    started = taken
  })

  limits.ended(work, named(ending))
  await settled()

  expect([atFirst, started]).toEqual([false, true])
})
