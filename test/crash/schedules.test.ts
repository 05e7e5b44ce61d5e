/** Random sequences of calls, repeats, polls, cancels, ends and restarts, on one server with a manual clock. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { problemsIn } from './history.ts'
import { type Kind, type Step, type Wish, World } from './world.ts'

const RUNS = Number(process.env.SCHEDULES ?? 25)

const which = fc.nat({ max: 20 })
const wish: fc.Arbitrary<Wish> = fc
  .record({
    kind: fc.constantFrom<Kind>('Work', 'Charge', 'Pay', 'Order'),
    keyed: fc.boolean(),
    stubborn: fc.boolean(),
    patient: fc.boolean(),
  })
  .map((any) => ({ ...any, keyed: any.keyed || any.kind === 'Charge' || any.kind === 'Pay' }))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('call' as const), wish }) },
  ...(['repeat', 'resend', 'poll', 'cancel', 'finish', 'fail'] as const).map((name) => ({
    weight: 2,
    arbitrary: fc.record({ do: fc.constant(name), which }),
  })),
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat({ max: 60_000 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)
const runningCalls = fc.constantFrom(1, 2, 256)

const begin = (kind: Kind, more: Partial<Wish> = {}): Step => ({
  do: 'call',
  wish: { kind, keyed: kind === 'Charge' || kind === 'Pay', stubborn: false, patient: false, ...more },
})

/** Found by this test: leases of 30 s that run out in the middle of something else, and a cancel that meets a claim. */
const LAPSED_WHILE_RUNNING: Step[] = [
  begin('Charge'),
  { do: 'advance', ms: 30_000 },
  { do: 'repeat', which: 0 },
  { do: 'finish', which: 0 },
]
const LAPSED_WHILE_CLOSING: Step[] = [
  begin('Charge'),
  { do: 'advance', ms: 29_999 },
  { do: 'restart' },
  { do: 'poll', which: 0 },
]
/** A child that is written down while its parent is told to stop, and a call that two wait for under one request id. */
const BEGUN_WHILE_CLOSING: Step[] = [begin('Order'), { do: 'restart' }]
const TWICE_AWAITED: Step[] = [begin('Pay', { patient: true }), { do: 'resend', which: 0 }, { do: 'finish', which: 0 }]
const CANCELED_WHILE_TAKEN_UP: Step[] = [
  begin('Work'),
  begin('Work'),
  begin('Work'),
  { do: 'finish', which: 0 },
  { do: 'cancel', which: 2 },
]

test('with random actions, no call is lost, run twice or moved back', { timeout: 120_000 }, async () => {
  verifies('opencall:291', 'opencall:294')
  await fc.assert(
    fc.asyncProperty(runningCalls, fc.array(step, { minLength: 5, maxLength: 30 }), async (slots, steps) => {
      await using world = await World.open(slots)
      for (const each of steps) await world.take(each)
      await world.settle()

      expect(problemsIn({ calls: [...world.calls, ...world.items], effects: world.effects })).toEqual([])
    }),
    {
      numRuns: RUNS,
      // Making a counterexample small can take longer than finding it.
      interruptAfterTimeLimit: 90_000,
      examples: [
        [256, LAPSED_WHILE_RUNNING],
        [256, LAPSED_WHILE_CLOSING],
        [256, CANCELED_WHILE_TAKEN_UP],
        [256, BEGUN_WHILE_CLOSING],
        [256, TWICE_AWAITED],
      ],
    },
  )
})
