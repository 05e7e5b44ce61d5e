/** The parts of a node's own queue, without a database. */
import { expect, test } from 'vitest'
import { FairTurns } from '../../src/core/fairness/fair-turns.ts'
import { FreshCalls } from '../../src/stores/postgres/nodes/fresh-calls.ts'
import { HeldCalls } from '../../src/stores/postgres/nodes/held-calls.ts'
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

test.each(['after a while', 'when the node stops'])(
  'calls that could not be given back are given back %s, and not started meanwhile',
  async (when) => {
    const clock = createManualClock()
    const held = new HeldCalls()
    const tries: number[] = []
    const answers = [Promise.reject(new Error('no database')), Promise.resolve({ applied: true })]
    const waiting = new WaitingHere({
      clock,
      log: undefined,
      held,
      fresh: new FreshCalls(() => clock.monotonicMs()),
      giveBack(_instance, dueAt) {
        tries.push(dueAt)
        return answers.shift() ?? Promise.resolve({ applied: false })
      },
      queued() {},
      begun() {},
      wakeHere() {},
      wakeOthers() {},
    })
    const dueAt = clock.now()
    const instance = sampleInstance(dueAt, { attempt: 1, dueAt: dueAt + 30_000 })
    held.took(instance, 1, null)
    waiting.add({ instance, args: '{}', dueAt }, 1)

    await waiting.release()
    expect(waiting.handOut([instance.id], dueAt, 30_000)).toEqual([])
    if (when === 'when the node stops') await waiting.release()
    else clock.advance(300)
    await Promise.resolve()

    expect(tries).toEqual([dueAt, dueAt])
    clock.advance(300)
    expect(tries).toHaveLength(2)
  },
)

test('a call in doubt is not offered again with every claim', () => {
  const clock = createManualClock()
  const fresh = new FreshCalls(() => clock.monotonicMs())
  const call = sampleInstance(clock.now(), { dueAt: clock.now(), id: '019b0000-0000-7000-8000-000000000001' })
  expect(fresh.sendWaiting(call)).toBe(true)
  fresh.doubt(call.id)

  expect(fresh.due(clock.now())).toEqual([])
  expect(fresh.doubtful(clock.now())).toEqual([call.id])
})
