/**
 * Part of the store suite: a caller that learned of a call before its end can find the end, in every race of the two.
 */

import { statesBefore } from '../../../core/call/state.ts'
import type { Change, Store } from '../../../core/ports/store.ts'
import type { ManualClock } from '../../fakes/clock.ts'
import { sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const KEPT_MS = 600_000

/** A running call, and an end that is kept only if a caller has learned of the call. */
async function running(store: Store, clock: ManualClock): Promise<{ id: string; end: Change }> {
  const lease = { state: 'pending' as const, attempt: 1, dueAt: clock.now() + 30_000 }
  const instance = sampleInstance(clock.now(), { model: 'sync', ...lease })
  await store.accept(instance)
  const kept = clock.now() + KEPT_MS
  const end: Change = {
    id: instance.id,
    from: statesBefore('complete'),
    to: 'complete',
    attempt: 1,
    outcome: { kind: 'result', value: 1 },
    endedAt: clock.now(),
    expiresAt: kept,
    keepUntil: kept,
    untold: { expiresAt: clock.now(), keepUntil: clock.now() },
  }
  return { id: instance.id, end }
}

export function describeTold({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('callers that were told of a call', () => {
    story('an end is kept if a caller was told before it, and only then', async (store, clock) => {
      const [told, untold] = [await running(store, clock), await running(store, clock)]

      const before = await store.tell(told.id)
      const ends = [await store.advance(told.end), await store.advance(untold.end)]

      expect(before).toMatchObject({ id: told.id, state: 'pending', told: true })
      expect(ends.map(({ instance }) => instance?.expiresAt)).toEqual([clock.now() + KEPT_MS, clock.now()])
      expect(ends.map(({ instance }) => instance?.keepUntil)).toEqual([clock.now() + KEPT_MS, clock.now()])
      for (const { instance } of ends) expect(await store.get(instance?.id as string)).toEqual(instance)
    })

    story('an ended call is returned as it ended and does not change', async (store, clock) => {
      const { id, end } = await running(store, clock)
      const { instance } = await store.advance(end)

      expect(await store.tell(id)).toEqual(instance)
      expect(await store.get(id)).toEqual(instance)
      expect(await store.tell('unknown')).toBe(undefined)
    })

    story('a concurrent notice and end are ordered', async (store, clock) => {
      for (let round = 0; round < 20; round++) {
        const { id, end } = await running(store, clock)
        const both = [() => store.tell(id), () => store.advance(end)]
        await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((start) => start()))
        const told = await store.tell(id)
        // In both orders, the written values are consistent.
        expect(told?.expiresAt).toBe(told?.told ? clock.now() + KEPT_MS : clock.now())
      }
    })

    story('telling twice writes once', async (store, clock) => {
      const { id } = await running(store, clock)

      const [first, second] = [await store.tell(id), await store.tell(id)]

      expect(second).toEqual(first)
      expect(first?.revision).toBe(2)
    })
  })
}
