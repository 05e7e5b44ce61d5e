/** Part of the store suite: atomic writes. */
import type { Instance } from '../../../core/call/instance.ts'
import type { Change, RecordChange, Store } from '../../../core/ports/store.ts'
import { sampleId, sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const [FIRST, SECOND] = [sampleId(1), sampleId(2)]

/** One change of each kind. All apply if `a` is 'old', `b` exists, and `c` and `d` do not. */
const ALL: readonly RecordChange[] = [
  { key: 'a', expected: 'old', value: 'new' },
  { key: 'b' },
  { key: 'c', expected: null, value: 'added' },
  { key: 'd', value: 'put' },
]
const BEFORE = ['old', 'there', undefined, undefined]
const AFTER = ['new', undefined, 'added', 'put']

export function describeTogether({ describe, expect }: TestRunner, story: StoreStory): void {
  const prepare = async ({ records }: Store) => {
    await records.put('a', 'old')
    await records.put('b', 'there')
  }
  const seen = ({ records }: Store) => Promise.all(['a', 'b', 'c', 'd'].map((key) => records.get(key)))
  const endOf = ({ id }: Instance, records: readonly RecordChange[]): Change => ({
    id,
    from: ['pending'],
    to: 'complete',
    attempt: 1,
    outcome: { kind: 'result', value: 1 },
    records,
  })

  describe('writing together', () => {
    story('records are written all at once, or none of them', async (store, clock) => {
      await prepare(store)
      const failing: RecordChange[] = [
        { key: 'a', expected: 'other', value: 'x' },
        { key: 'a', expected: null, value: 'x' },
        { key: 'c', expected: 'something', value: 'x' },
        { key: 'b', expected: 'other' },
      ]

      for (const change of failing) expect(await store.records.write([{ key: 'd', value: 'put' }, change])).toBe(false)
      expect(await seen(store)).toEqual(BEFORE)
      expect(await Promise.all([store.records.write(ALL), store.records.write(ALL)])).toEqual([true, false])
      expect(await seen(store)).toEqual(AFTER)

      await store.records.put('gone', 'old', clock.now() + 10)
      clock.advance(10)
      expect(await store.records.write([{ key: 'gone', expected: 'old' }])).toBe(false)
      const again = { key: 'gone', expected: null, value: 'anew', expiresAt: clock.now() + 10 }
      expect(await store.records.write([again])).toBe(true)
      clock.advance(10)
      expect(await store.records.get('gone')).toBe(undefined)
    })

    story('records written with a call exist if the call was accepted', async (store, clock) => {
      await prepare(store)
      const call = sampleInstance(clock.now(), { requestId: 'r1', idempotencyKey: 'k1' })
      const differing: RecordChange[] = [
        { key: 'd', value: 'put' },
        { key: 'a', expected: 'other', value: 'x' },
      ]

      expect(await store.accept(call, { records: differing })).toEqual({ kind: 'records-differ' })
      expect([await store.get(call.id), await seen(store)]).toEqual([undefined, BEFORE])
      expect(await store.accept(call, { records: ALL })).toEqual({ kind: 'created' })
      expect([await store.get(call.id), await seen(store)]).toEqual([call, AFTER])
    })

    story('a call that is not accepted leaves no record', async (store, clock) => {
      await prepare(store)
      await store.accept(sampleInstance(clock.now(), { id: FIRST, requestId: 'r1', idempotencyKey: 'k1' }))
      const sameRequest = sampleInstance(clock.now(), { requestId: 'r1' })
      const sameKey = sampleInstance(clock.now(), { idempotencyKey: 'k1' })

      expect(await store.accept(sameRequest, { records: ALL })).toMatchObject({ kind: 'request-id-taken' })
      expect(await store.accept(sameKey, { records: ALL })).toMatchObject({ kind: 'key-taken' })
      expect(await seen(store)).toEqual(BEFORE)
    })

    story(
      'a call keeps its request id if the call that should replace it cannot write its records',
      async (store, clock) => {
        const standing = sampleInstance(clock.now(), { id: FIRST, requestId: 'r1', state: 'error' })
        await store.accept(standing)
        const next = sampleInstance(clock.now(), { id: SECOND, requestId: 'r1' })
        const records = [{ key: 'a', expected: 'old', value: 'new' }]

        expect(await store.accept(next, { over: FIRST, records })).toEqual({ kind: 'records-differ' })
        expect(await store.find('main', standing.owner, 'r1')).toMatchObject({ id: FIRST })
        await store.records.put('a', 'old')
        expect(await store.accept(next, { over: FIRST, records })).toEqual({ kind: 'created' })
        expect(await store.find('main', standing.owner, 'r1')).toMatchObject({ id: SECOND })
        expect(await store.records.get('a')).toBe('new')
      },
    )

    story('records written with a change exist if the change was applied', async (store, clock) => {
      await prepare(store)
      const dueAt = clock.now() + 1_000
      const running = sampleInstance(clock.now(), { id: FIRST, state: 'pending', attempt: 1, dueAt })
      await store.accept(running)
      const differing = endOf(running, [
        { key: 'd', value: 'put' },
        { key: 'a', expected: 'other', value: 'x' },
      ])

      const first = await store.advance(differing)
      expect(first).toMatchObject({ applied: false, recordsDiffer: true, instance: { state: 'pending', revision: 1 } })
      const lost = await store.advance({ ...endOf(running, ALL), attempt: 2 })
      expect([lost.applied, lost.recordsDiffer, await seen(store)]).toEqual([false, undefined, BEFORE])
      const last = await store.advance(endOf(running, ALL))
      expect(last).toMatchObject({ applied: true, instance: { state: 'complete', revision: 2 } })
      expect(await seen(store)).toEqual(AFTER)
    })

    story('a lease is still held after a change whose records differ', async (store, clock) => {
      const dueAt = clock.now() + 1_000
      const running = sampleInstance(clock.now(), { id: FIRST, state: 'pending', attempt: 1, dueAt })
      await store.accept(running)
      const records = [{ key: 'a', expected: 'old', value: 'new' }]
      const leave: Change = { id: FIRST, from: ['pending'], to: 'pending', attempt: 1, settled: 1, dueAt, records }

      expect(await store.advance(leave)).toMatchObject({ applied: false, recordsDiffer: true })
      expect(await store.extend([{ id: FIRST, attempt: 1 }], 2_000)).toMatchObject([{ held: true }])
      await store.records.put('a', 'old')
      expect(await store.advance(leave)).toMatchObject({ applied: true, instance: { settled: 1 } })
      expect(await store.records.get('a')).toBe('new')
    })
  })
}
