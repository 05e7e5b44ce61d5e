/** Part of the store suite: expiry, purging and counting. */

import type { Instance } from '../../../core/call/instance.ts'
import { statesBefore } from '../../../core/call/state.ts'
import { Fault } from '../../../core/fault.ts'
import type { Store } from '../../../core/ports/store.ts'
import { sampleId, sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const ENDING = {
  from: statesBefore('complete'),
  to: 'complete' as const,
  outcome: { kind: 'result' as const, value: 1 },
}

export function describeUpkeep({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('keeping house', () => {
    story(
      'an expired call is hidden from callers, but its ids stay taken until it is removed',
      async (store, clock) => {
        const now = clock.now()
        const dates = { expiresAt: now + 1_000, keepUntil: now + 5_000 }
        const instance = sampleInstance(now, { ...dates, requestId: 'r1', idempotencyKey: 'k1' })
        await store.accept(instance)
        await store.advance({ id: instance.id, ...ENDING })
        const alias = { tenant: 'main', owner: instance.owner, requestId: 'r2', instanceId: instance.id }
        await store.alias({ ...alias, expiresAt: now + 3_000 })
        const find = async (requestId: string) => (await store.find('main', instance.owner, requestId))?.id
        const accept = async (ids: { requestId?: string; idempotencyKey?: string }) =>
          (await store.accept(sampleInstance(clock.now(), ids))).kind

        clock.advance(999)
        expect(await find('r1')).toBe(instance.id)
        clock.advance(1)
        expect([await find('r1'), await find('r2')]).toEqual([undefined, instance.id])
        clock.advance(2_000)
        expect(await find('r2')).toBe(undefined)
        expect(await accept({ requestId: 'r1' })).toBe('request-id-taken')
        expect(await accept({ requestId: 'r2' })).toBe('request-id-taken')
        expect(await accept({ idempotencyKey: 'k1' })).toBe('key-taken')

        clock.advance(1_999)
        expect(await expire(store)).toEqual([])
        clock.advance(1)
        expect(await expire(store)).toEqual([instance.id])

        expect(await store.get(instance.id)).toBe(undefined)
        expect(await accept({ requestId: 'r1', idempotencyKey: 'k1' })).toBe('created')
        expect(await accept({ requestId: 'r2' })).toBe('created')
      },
    )

    story('the change that ends a call can set a later expiry and a later removal time', async (store, clock) => {
      const instance = sampleInstance(clock.now(), { expiresAt: clock.now() + 10, keepUntil: clock.now() + 20 })
      await store.accept(instance)
      const dates = { expiresAt: clock.now() + 100, keepUntil: clock.now() + 200 }

      const { instance: ended } = await store.advance({ id: instance.id, ...ENDING, ...dates })

      expect(ended).toMatchObject(dates)
      clock.advance(20)
      expect(await store.find('main', instance.owner, instance.requestId)).toEqual(ended)
      expect(await expire(store)).toEqual([])
    })

    story('overdue calls are the open calls past their expiry, oldest first', async (store, clock) => {
      const expiring = (ms: number) =>
        sampleInstance(clock.now(), { expiresAt: clock.now() + ms, keepUntil: clock.now() + ms })
      const [second, first, later, ended] = [expiring(20), expiring(10), expiring(500), expiring(5)] as const
      await Promise.all([second, first, later, ended].map((instance) => store.accept(instance)))
      await store.advance({ id: ended.id, ...ENDING })
      clock.advance(100)

      expect(await store.overdue(10)).toEqual([first, second])
      expect(await store.overdue(1)).toEqual([first])
      expect(await expire(store)).toEqual([ended.id])
    })

    story('calls past their retention are removed oldest first, up to the limit', async (store, clock) => {
      const kept = (ms: number) =>
        sampleInstance(clock.now(), { id: sampleId(ms), state: 'complete', keepUntil: clock.now() + ms })
      for (const ms of [30, 10, 20, 500]) await store.accept(kept(ms))
      clock.advance(100)

      expect(await expire(store, 2)).toEqual([sampleId(10), sampleId(20)])
      expect(await expire(store, 2)).toEqual([sampleId(30)])
      expect(await expire(store, 2)).toEqual([])
      expect(await store.get(sampleId(500))).toMatchObject({ id: sampleId(500) })
    })

    story('objects are removed before the row, and the row stays if that fails', async (store, clock) => {
      const ended = sampleInstance(clock.now(), { state: 'complete', keepUntil: clock.now() })
      await store.accept(ended)
      const failing = store.expire(10, async () => {
        throw new Fault('unavailable', 'The objects cannot be reached.', { code: 'NO_OBJECTS' })
      })
      await expect(failing).rejects.toMatchObject({ code: 'NO_OBJECTS' })
      let whileRemoving: unknown

      const removed = await store.expire(10, async ([id = '']) => {
        whileRemoving = await store.get(id)
      })

      expect([whileRemoving, removed]).toEqual([ended, 1])
      expect(await store.get(ended.id)).toBe(undefined)
    })

    story('two nodes can expire the same calls at the same time', async (store, clock) => {
      const ended = [1, 2, 3].map(() => sampleInstance(clock.now(), { state: 'complete', keepUntil: clock.now() }))
      await Promise.all(ended.map((instance) => store.accept(instance)))

      await Promise.all([expire(store), expire(store)])

      for (const { id } of ended) expect(await store.get(id)).toBe(undefined)
      expect(await expire(store)).toEqual([])
    })

    story(
      'open calls are counted by tenant and caller, and calls that never started are counted as queued',
      async (store, clock) => {
        const [ada, bob] = [{ owner: 'none|ada' }, { owner: 'none|bob' }]
        const elsewhere = { ...ada, tenant: 'other' }
        const ended = sampleInstance(clock.now(), bob)
        const instances = [
          sampleInstance(clock.now(), ada),
          sampleInstance(clock.now(), { ...ada, state: 'pending', attempt: 1 }),
          sampleInstance(clock.now(), elsewhere),
          sampleInstance(clock.now(), bob),
          ended,
        ]
        await Promise.all(instances.map((instance) => store.accept(instance)))
        await store.advance({ id: ended.id, ...ENDING })

        const { queued, byOwner } = await store.openCounts()

        expect(queued).toBe(3)
        expect([...byOwner].sort()).toEqual([
          ['main', 'none|ada', 2],
          ['main', 'none|bob', 1],
          ['other', 'none|ada', 1],
        ])
      },
    )

    story('a call that was handed back before it was started is queued again', async (store, clock) => {
      const calls = ['none|ada', 'none|bob'].map((owner) =>
        sampleInstance(clock.now(), { owner, dueAt: clock.now() }),
      ) as [Instance, Instance]
      await Promise.all(calls.map((call) => store.accept(call)))
      const claim = { operations: [calls[0].operation], limit: 2, leaseMs: 1_000 }
      const back = { from: statesBefore('pending'), to: 'pending' as const, dueAt: clock.now(), settled: 1, attempt: 1 }

      const claimed = await store.claim(claim)
      const running = await store.openCounts()
      await store.advance({ ...back, id: calls[0].id, extras: { unbegun: 1 } })
      // This one was started.
      await store.advance({ ...back, id: calls[1].id })
      const handedBack = await store.openCounts()
      await store.claim(claim)
      const again = await store.openCounts()

      expect(claimed.instances.length).toBe(2)
      expect([running, handedBack, again].map(({ queued }) => queued)).toEqual([0, 1, 0])
    })

    story('a call that waits for an approval is open, but not queued', async (store, clock) => {
      const held = sampleInstance(clock.now(), { extras: { held: true, approvalId: 'a1' } })
      const plain = sampleInstance(clock.now(), { extras: { rule: 'policy.yaml#any' } })
      await Promise.all([held, plain].map((instance) => store.accept(instance)))

      const { queued, byOwner, byOperation } = await store.openCounts()

      expect(queued).toBe(1)
      expect([...byOwner, ...byOperation]).toEqual([
        [held.tenant, held.owner, 2],
        [held.operation, 2],
      ])
    })

    story('closing waits for the writes under way and refuses later ones', async (store, clock) => {
      const writing = store.accept(sampleInstance(clock.now()))

      await store.close()

      expect(await writing).toEqual({ kind: 'created' })
      await expect(store.accept(sampleInstance(clock.now()))).rejects.toMatchObject({
        name: 'Fault',
        kind: 'unavailable',
      })
      await expect(store.get('any')).rejects.toMatchObject({ name: 'Fault', kind: 'unavailable' })
    })
  })
}

/** The ids that the store named before it removed them; each must have been counted. */
async function expire(store: Store, limit = 10): Promise<readonly string[]> {
  let named: readonly string[] = []
  const removed = await store.expire(limit, async (ids) => {
    named = ids
  })
  if (removed !== named.length) throw new Error(`${removed} were removed, and ${named.length} were named.`)
  return named
}
