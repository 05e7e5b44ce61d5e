/** Part of the store suite: accepting calls, finding them, and isolating callers. */

import type { Instance } from '../../../core/call/instance.ts'
import type { JsonValue } from '../../../core/json.ts'
import { sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

export function describeAcceptance({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('taking calls in', () => {
    story('an accepted instance is read back unchanged', async (store, clock) => {
      const plain = sampleInstance(clock.now())
      const full = sampleInstance(clock.now(), {
        sessionId: 's1',
        parentId: 'p1',
        idempotencyKey: 'k1',
        locale: 'de-CH',
        traceparent: '00-a-b-01',
        lineage: ['v1:outer@1.0.0'],
        media: [{ name: 'scan', mimeType: 'image/png', source: { kind: 'ref', uri: 'https://files.example/1' } }],
        args: { text: 'ü\u0000\u{1f600}', nested: [null, true, 1.5, { '': '' }] },
        attempt: 1,
        rerunnable: false,
        dueAt: clock.now() + 10,
        extras: { brought: ['hub'] },
      })

      expect(await Promise.all([store.accept(plain), store.accept(full)])).toEqual([
        { kind: 'created' },
        { kind: 'created' },
      ])

      expect(await store.get(plain.id)).toEqual(plain)
      expect(await store.find('main', full.owner, full.requestId)).toEqual(full)
      expect(await store.get('unknown')).toBe(undefined)
    })

    story('a request id is taken once, even by two concurrent calls', async (store, clock) => {
      const first = sampleInstance(clock.now(), { requestId: 'r1' })
      const second = sampleInstance(clock.now(), { requestId: 'r1', fingerprint: 'f2' })

      const answers = await Promise.all([store.accept(first), store.accept(second)])

      expect(answers).toEqual([{ kind: 'created' }, { kind: 'request-id-taken', instance: first }])
      expect(await store.get(second.id)).toBe(undefined)
    })

    story('an idempotency key is taken once for each operation, across its versions', async (store, clock) => {
      const first = sampleInstance(clock.now(), { idempotencyKey: 'k1' })
      const repeat = sampleInstance(clock.now(), { idempotencyKey: 'k1', operation: 'v1:reports.generate@1.2.0' })
      const elsewhere = sampleInstance(clock.now(), { idempotencyKey: 'k1', operation: 'v1:other@1.0.0' })

      const answers = await Promise.all([store.accept(first), store.accept(repeat), store.accept(elsewhere)])

      expect(answers).toEqual([{ kind: 'created' }, { kind: 'key-taken', instance: first }, { kind: 'created' }])
    })

    story('if both are taken, the request id is reported', async (store, clock) => {
      const byRequest = sampleInstance(clock.now(), { requestId: 'r1' })
      const byKey = sampleInstance(clock.now(), { idempotencyKey: 'k1' })
      await Promise.all([store.accept(byRequest), store.accept(byKey)])

      const answer = await store.accept(sampleInstance(clock.now(), { requestId: 'r1', idempotencyKey: 'k1' }))

      expect(answer).toEqual({ kind: 'request-id-taken', instance: byRequest })
    })

    story('callers and tenants neither collide nor see each other', async (store, clock) => {
      const shared = { requestId: 'r1', idempotencyKey: 'k1' }
      const ada = sampleInstance(clock.now(), shared)
      const bob = sampleInstance(clock.now(), { ...shared, owner: 'none|bob' })
      const otherTenant = sampleInstance(clock.now(), { ...shared, tenant: 'other' })

      for (const instance of [ada, bob, otherTenant]) expect(await store.accept(instance)).toEqual({ kind: 'created' })

      expect(await store.find('main', 'none|bob', 'r1')).toEqual(bob)
      expect(await store.find('other', 'none|ada', 'r1')).toEqual(otherTenant)
      expect(await store.find('other', 'none|bob', 'r1')).toBe(undefined)
    })

    story("an instance found by an alias has the alias's request id, session and expiry", async (store, clock) => {
      const instance = sampleInstance(clock.now(), { sessionId: 'first' })
      await store.accept(instance)
      const alias = { tenant: 'main', owner: instance.owner, requestId: 'r2', instanceId: instance.id }
      const expiresAt = clock.now() + 7_200_000

      expect(await store.alias({ ...alias, expiresAt })).toEqual({ kind: 'created' })

      const { sessionId: _, ...rest } = instance
      const seen: Instance = { ...rest, requestId: 'r2', expiresAt }
      expect(await store.find('main', instance.owner, 'r2')).toEqual(seen)
      expect(await store.find('main', 'none|bob', 'r2')).toBe(undefined)
      const again = await store.alias({ ...alias, expiresAt, sessionId: 'other' })
      expect(again).toEqual({ kind: 'request-id-taken', instance: seen })
      const reuse = await store.accept(sampleInstance(clock.now(), { requestId: 'r2' }))
      expect(reuse).toEqual({ kind: 'request-id-taken', instance: seen })
      const own = await store.alias({ ...alias, requestId: instance.requestId, expiresAt })
      expect(own).toEqual({ kind: 'request-id-taken', instance })
    })

    story('a request id moves to another call only from the named one', async (store, clock) => {
      const first = sampleInstance(clock.now(), { requestId: 'r1', state: 'error' })
      await store.accept(first)
      const expiresAt = clock.now() + 1_000
      await store.alias({ tenant: 'main', owner: first.owner, requestId: 'r2', instanceId: first.id, expiresAt })
      const [second, third, late] = ['r1', 'r2', 'r1'].map((requestId) => sampleInstance(clock.now(), { requestId }))
      const other = sampleInstance(clock.now(), { requestId: 'r1' })

      expect(await store.accept(other as Instance, { over: 'another' })).toMatchObject({ kind: 'request-id-taken' })
      const answers = await Promise.all([
        store.accept(second as Instance, { over: first.id }),
        store.accept(third as Instance, { over: first.id }),
        store.accept(late as Instance, { over: first.id }),
      ])

      const taken = { kind: 'request-id-taken', instance: second }
      expect(answers).toEqual([{ kind: 'created' }, { kind: 'created' }, taken])
      expect(await store.find('main', first.owner, 'r1')).toEqual(second)
      expect(await store.find('main', first.owner, 'r2')).toEqual(third)
      expect(await store.get(first.id)).toMatchObject({ state: 'error', revision: 2 })
    })

    story('a refused call leaves the request id with the call that has it', async (store, clock) => {
      const first = sampleInstance(clock.now(), { requestId: 'r1', state: 'error' })
      const keyed = sampleInstance(clock.now(), { requestId: 'r2', idempotencyKey: 'k1' })
      await store.accept(first)
      await store.accept(keyed)
      const next = sampleInstance(clock.now(), { requestId: 'r1', idempotencyKey: 'k1' })

      const refused = await store.accept(next, { over: first.id })

      expect(refused).toEqual({ kind: 'key-taken', instance: keyed })
      expect(await store.find('main', first.owner, 'r1')).toEqual(first)
    })

    story('a call that has the key keeps its request id, and is told with it', async (store, clock) => {
      const standing = sampleInstance(clock.now(), { requestId: 'r1', idempotencyKey: 'k1' })
      await store.accept(standing)
      const next = sampleInstance(clock.now(), { requestId: 'r1', idempotencyKey: 'k1' })

      expect(await store.accept(next, { over: standing.id })).toEqual({ kind: 'key-taken', instance: standing })
      expect(await store.find('main', standing.owner, 'r1')).toEqual(standing)
    })

    story('an alias for a call that is not stored is refused', async (store, clock) => {
      const alias = {
        tenant: 'main',
        owner: 'none|ada',
        requestId: 'r2',
        instanceId: 'gone',
        expiresAt: clock.now() + 1,
      }

      await expect(store.alias(alias)).rejects.toMatchObject({ name: 'Fault', kind: 'unavailable' })

      expect(await store.find('main', 'none|ada', 'r2')).toBe(undefined)
    })

    story('a call that is not JSON is refused with a fault', async (store, clock) => {
      const instance = sampleInstance(clock.now(), { args: 1n as unknown as JsonValue })

      await expect(store.accept(instance)).rejects.toMatchObject({ name: 'Fault', kind: 'internal' })

      expect(await store.get(instance.id)).toBe(undefined)
    })

    story('a failed write does not affect the writes around it', async (store, clock) => {
      const [before, after] = [sampleInstance(clock.now()), sampleInstance(clock.now())]
      const sameId = sampleInstance(clock.now(), { id: before.id, requestId: 'r2' })
      const told: string[] = []
      store.watch(before.id, ({ requestId }) => told.push(requestId))

      const answers = await Promise.allSettled([before, sameId, after].map((instance) => store.accept(instance)))

      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(answers[1]).toMatchObject({ reason: { name: 'Fault', kind: 'internal' } })
      expect(await store.get(before.id)).toEqual(before)
      expect(await store.get(after.id)).toEqual(after)
      expect(await store.find('main', before.owner, 'r2')).toBe(undefined)
      expect(told).toEqual([before.requestId])
    })
  })
}
