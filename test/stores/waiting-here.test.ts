/** The parts of a node's own queue, without a database. */
import { expect, test } from 'vitest'
import { FairTurns } from '../../src/core/fairness/fair-turns.ts'
import { FreshCalls } from '../../src/stores/postgres/nodes/fresh-calls.ts'
import { choose, createBudget, merged } from '../../src/stores/postgres/queue/choice.ts'
import { WaitingHere } from '../../src/stores/postgres/queue/waiting-here.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'

test('a call that waits here comes after calls of its caller that were not read', () => {
  const at = (id: string, due_at: number) => ({ id, generation: 1, operation: 'op', tenant: 't', owner: 'o', due_at })
  const read = Array.from({ length: 8 }, (_, n) => at(`read ${n}`, n))
  const seen = [{ tenant: 't', owner: 'o', calls: read, cutOff: new Set(['op']) }]
  const here = [{ tenant: 't', owner: 'o', calls: [{ ...at('here', 100), waits: true }], cutOff: new Set<string>() }]
  const budget = createBudget({ operations: ['op'], limit: 9, leaseMs: 1 })

  const { calls, wantsMore } = choose(new FairTurns(), merged(seen, here), 9, budget)

  expect(calls.map(({ id }) => id)).toEqual(read.map(({ id }) => id))
  expect(wantsMore).toBe(true)
})

test('calls that could not be offered to others are offered again', async () => {
  const clock = createManualClock()
  const tries: number[] = []
  const failure = Promise.withResolvers<void>()
  let answers = [failure.promise]
  const waiting = new WaitingHere({
    clock,
    log: undefined,
    register(ids) {
      tries.push(ids.length)
      return answers.pop() ?? Promise.resolve()
    },
    wakeOthers() {},
  })
  waiting.add(sampleInstance(clock.now(), { dueAt: clock.now() }), 1)
  const releasing = waiting.release()
  // The timer finds nothing, because these calls are just being offered.
  clock.advance(300)
  failure.reject(new Error('no database'))
  await expect(releasing).rejects.toThrow('no database')
  answers = []

  clock.advance(300)

  expect(tries).toEqual([1, 1])
})

test('a call in doubt is not offered again with every claim', () => {
  const clock = createManualClock()
  const fresh = new FreshCalls(() => clock.monotonicMs())
  const call = sampleInstance(clock.now(), { dueAt: clock.now(), id: '019b0000-0000-7000-8000-000000000001' })
  expect(fresh.sendWaiting(call, clock.now())).toBe(true)
  fresh.doubt(call.id)

  expect(fresh.due(clock.now())).toEqual([])
  expect(fresh.doubtful(clock.now())).toEqual([call.id])
})
