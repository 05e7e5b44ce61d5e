/** Part of the store suite: fairness between callers with due calls. */
import type { Instance } from '../../../core/call/instance.ts'
import type { Claim } from '../../../core/ports/store.ts'
import { sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const CLAIM: Claim = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: 30_000 }

export function describeTurns({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('turns', () => {
    story('claims alternate between tenants and callers, each with its earliest due call', async (store, clock) => {
      const flood = 5
      const at = (who: object, ago: number) => sampleInstance(clock.now(), { ...who, dueAt: clock.now() - ago })
      const ada = Array.from({ length: flood }, (_, n) => at({ owner: 'none|ada' }, 100 - n))
      const bob = [at({ owner: 'none|bob' }, 5), at({ owner: 'none|bob' }, 6)]
      const eve = [at({ tenant: 'other', owner: 'none|eve' }, 2), at({ tenant: 'other', owner: 'none|eve' }, 1)]
      for (const instance of [...ada, ...bob, ...eve]) await store.accept(instance)

      const handedOut: string[] = []
      // The turns continue across claims.
      for (const limit of [1, 1, 2, 3, 100])
        handedOut.push(...(await store.claim({ ...CLAIM, limit })).instances.map(({ id }) => id))

      const tenants = handedOut.map((id) => (eve.some((each) => each.id === id) ? 'other' : 'main'))
      expect(tenants.slice(0, 4)).toEqual(['main', 'other', 'main', 'other'])
      const mine = handedOut.filter((id) => !eve.some((each) => each.id === id))
      const [a, b] = [ada.map(({ id }) => id), [bob[1]?.id, bob[0]?.id]]
      expect(mine).toEqual([a[0], b[0], a[1], b[1], a[2], a[3], a[4]])
      expect(handedOut.filter((id) => eve.some((each) => each.id === id))).toEqual(eve.map(({ id }) => id))
    })

    story('a weight sets how many calls a caller or tenant gets in its turn', async (store, clock) => {
      const at = (who: object, n: number) => sampleInstance(clock.now(), { ...who, dueAt: clock.now() - 50 + n })
      const callers = [{ owner: 'none|ada' }, { owner: 'none|bob' }, { tenant: 'other', owner: 'none|eve' }]
      const queued = callers.flatMap((who) => Array.from({ length: 6 }, (_, n) => at(who, n)))
      for (const instance of queued) await store.accept(instance)

      const weights = { tenants: { main: 3 }, callers: { 'none|ada': 2 } }
      const { instances } = await store.claim({ ...CLAIM, limit: 8, weights })

      expect(instances.map(({ owner }) => owner.slice(5))).toEqual([
        'ada',
        'ada',
        'bob',
        'eve',
        'ada',
        'ada',
        'bob',
        'eve',
      ])
    })

    story('a caller with its share of the slots leaves the reserved slots to others', async (store, clock) => {
      const at = (owner: string, n: number) => sampleInstance(clock.now(), { owner, dueAt: clock.now() - 90 + n })
      const flood = Array.from({ length: 20 }, (_, n) => at('none|ada', n))
      for (const instance of [...flood, at('none|bob', 50)]) await store.accept(instance)
      const slots = { slots: 16, reserve: 4, running: [['main', 'none|ada', 10]] as const }

      const first = await store.claim({ ...CLAIM, limit: 6, shares: slots })
      const again = { ...slots, running: [['main', 'none|ada', 11]] as const }
      const later = await store.claim({ ...CLAIM, limit: 5, shares: again })

      const counts = (instances: readonly Instance[]) => instances.map(({ owner }) => owner.slice(5)).sort()
      expect(counts(first.instances)).toEqual(['ada', 'bob'])
      expect(counts(later.instances)).toEqual(['ada'])
      // The remaining calls are due, but cannot run before a slot is released.
      expect(first.nextDueAt).toBe(clock.now() + CLAIM.leaseMs)
    })

    story('a failed write in the same commit does not change a claim', async (store, clock) => {
      const due = sampleInstance(clock.now(), { dueAt: clock.now() })
      await store.accept(due)
      const claiming = store.claim(CLAIM)
      const failing = store.accept(sampleInstance(clock.now(), { id: due.id }))

      await expect(failing).rejects.toMatchObject({ kind: 'internal' })
      expect((await claiming).instances).toMatchObject([{ id: due.id, attempt: 1 }])
      clock.advance(CLAIM.leaseMs)
      expect((await store.claim(CLAIM)).instances).toMatchObject([{ id: due.id, attempt: 2 }])
    })
  })
}
