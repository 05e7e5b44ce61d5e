/** Part of the store suite: calls that wait for an external result, and rarely used fields of a call. */

import { statesBefore } from '../../../core/call/state.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Change, Claim, Store } from '../../../core/ports/store.ts'
import type { ManualClock } from '../../fakes/clock.ts'
import { sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const LEASE_MS = 30_000
const CLAIM: Claim = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: LEASE_MS }

/** Claims a call, and writes `changes` as its worker would. */
async function claimed(store: Store, clock: ManualClock, changes: Partial<Change>): Promise<string> {
  const { id } = sampleInstance(clock.now())
  await store.accept(sampleInstance(clock.now(), { id, dueAt: clock.now() }))
  await store.claim(CLAIM)
  await store.advance({ id, from: ['pending'], to: 'pending', attempt: 1, ...changes })
  return id
}

export function describeWaiting({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('waiting for answers', () => {
    story('waiting, extras and the end are stored as a change sets them', async (store, clock) => {
      const extras = { tryEndsAt: clock.now() + 5, terms: { attempts: 2 }, deadlineAt: clock.now() + 9 }
      const waiting = { url: 'https://tools.example/1', 'ü\u0000': [null, 1.5] }
      const dueAt = clock.now() + 100

      const id = await claimed(store, clock, { waiting, extras, settled: 1, dueAt })
      const left = await store.get(id)
      const plain = await store.advance({ id, from: ['pending'], to: 'pending', attempt: 1, dueAt })
      const ended = await store.advance({ id, from: statesBefore('error'), to: 'error', endedAt: clock.now() })

      expect(left).toMatchObject({ waiting, extras, settled: 1, dueAt })
      expect(plain.instance).toEqual({ ...left, revision: 4 })
      const { dueAt: _, ...rest } = left ?? {}
      expect(ended.instance).toEqual({ ...rest, state: 'error', endedAt: clock.now(), revision: 5 })
      expect(await store.get(id)).toEqual(ended.instance)
    })

    story('an answer makes a call due that no worker runs, and only the first one counts', async (store, clock) => {
      const dueAt = clock.now() + 3_600_000
      const id = await claimed(store, clock, { waiting: {}, settled: 1, dueAt })
      const told: JsonValue[] = []
      // A watcher may first hear of the last change before it began, of another node.
      store.watch(id, ({ answer }) => {
        if (answer !== undefined) told.push(answer)
      })

      const answers = await Promise.all([store.answer(id, { n: 1 }), store.answer(id, { n: 2 })])

      expect(answers.map(({ applied }) => applied)).toEqual([true, false])
      expect(answers[1]?.instance).toEqual(answers[0]?.instance)
      expect(await store.get(id)).toMatchObject({ answer: { n: 1 }, waiting: {}, dueAt: clock.now(), revision: 4 })
      expect(told).toEqual([{ n: 1 }])
      const [resumed] = (await store.claim(CLAIM)).instances
      expect(resumed).toMatchObject({ id, attempt: 2, settled: 1, answer: { n: 1 } })
    })

    story('an answer for one attempt is not accepted by another', async (store, clock) => {
      const id = await claimed(store, clock, { waiting: 'w', settled: 1, failures: 1, dueAt: clock.now() + 100 })

      const stale = await store.answer(id, 'of the first', 0)
      const meant = await store.answer(id, 'of the second', 1)

      expect([stale.applied, stale.instance?.answer]).toEqual([false, undefined])
      expect([meant.applied, meant.instance?.answer]).toEqual([true, 'of the second'])
    })

    story('an answer does not change the lease of the worker that runs the call', async (store, clock) => {
      const dueAt = clock.now() + LEASE_MS
      const id = await claimed(store, clock, { waiting: 'w', dueAt })

      const { applied, instance } = await store.answer(id, null)

      expect([applied, instance?.answer, instance?.dueAt]).toEqual([true, null, dueAt])
      expect(await store.claim(CLAIM)).toEqual({ instances: [], nextDueAt: dueAt })
      const left = await store.advance({ id, from: ['pending'], to: 'pending', attempt: 1, settled: 1, waiting: 'w2' })
      expect(left.instance).toMatchObject({ waiting: 'w2', answer: null })
    })

    story('a call that no longer waits has no answer and accepts none', async (store, clock) => {
      const waiting = await claimed(store, clock, { waiting: 'w', settled: 1, dueAt: clock.now() + 100 })
      await store.answer(waiting, 'first')
      const busy = await claimed(store, clock, { dueAt: clock.now() + LEASE_MS })
      const ended = await claimed(store, clock, { waiting: 'w', settled: 1, dueAt: clock.now() + 100 })
      await store.advance({ id: ended, from: statesBefore('error'), to: 'error' })

      const cleared = await store.advance({ id: waiting, from: ['pending'], to: 'pending', waiting: null })

      expect([cleared.instance?.waiting, cleared.instance?.answer]).toEqual([undefined, undefined])
      for (const id of [waiting, busy, ended]) {
        const standing = await store.get(id)
        expect(await store.answer(id, 'late')).toEqual({ applied: false, instance: standing })
      }
      expect(await store.answer('unknown', 'lost')).toEqual({ applied: false })
    })

    story('a new call that waits for the first time can be answered', async (store, clock) => {
      const instance = sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + LEASE_MS })
      const leaving: Change = { id: instance.id, from: ['pending'], to: 'pending', attempt: 1, settled: 1, waiting: 1 }

      const [, left, answered] = await Promise.all([
        store.accept(instance),
        store.advance(leaving),
        store.answer(instance.id, 2),
      ])

      expect(left?.instance).toMatchObject({ waiting: 1, settled: 1 })
      expect(answered).toMatchObject({ applied: true, instance: { answer: 2, dueAt: clock.now() } })
      expect(await store.get(instance.id)).toEqual(answered?.instance)
    })
  })
}
