/** Part of the store suite: lists of calls for operators, and the history of their attempts. */

import { idAt } from '../../../core/call/id-time.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { statesBefore } from '../../../core/call/state.ts'
import type { FaultKind } from '../../../core/fault.ts'
import type { CallFilter, CallQuery } from '../../../core/ports/call-list.ts'
import type { Store } from '../../../core/ports/store.ts'
import type { ManualClock } from '../../fakes/clock.ts'
import { expireNow } from '../../fakes/expire-now.ts'
import { sampleId, sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const SCAN = 1_000

export function describeLists({ describe, expect }: TestRunner, story: StoreStory): void {
  const idsOf = async (store: Store, filter: CallFilter = {}, more: Partial<CallQuery> = {}) => {
    const { calls, ...rest } = await store.calls.page({ tenant: 'main', filter, limit: 50, scan: SCAN, ...more })
    return { ids: calls.map(({ id }) => id), ...rest }
  }

  describe('lists of calls', () => {
    story('calls are listed newest first, in pages, and the last page names no next one', async (store, clock) => {
      await acceptAll(store, clock, [3, 1, 5, 2, 4])

      const first = await idsOf(store, {}, { limit: 2 })
      const second = await idsOf(store, {}, { limit: 2, after: sampleId(4) })
      const third = await idsOf(store, {}, { limit: 2, after: sampleId(2) })

      expect(first).toEqual({ ids: [5, 4].map(sampleId), next: sampleId(4), complete: true })
      expect(second).toEqual({ ids: [3, 2].map(sampleId), next: sampleId(2), complete: true })
      expect(third).toEqual({ ids: [sampleId(1)], complete: true })
    })

    story('a listed call has the facts of its row, and neither arguments nor result', async (store, clock) => {
      const given = sampleInstance(clock.now(), {
        id: sampleId(1),
        sessionId: 's1',
        parentId: sampleId(9),
        idempotencyKey: 'k1',
        lineage: [sampleId(9)],
        extras: { rule: 'p.yaml#1', calledBy: sampleId(9), replayOf: sampleId(8) },
        state: 'pending',
        attempt: 1,
        dueAt: clock.now() + 1_000,
      })
      await store.accept(given)
      await store.progress({ id: given.id, attempt: 1 }, { fraction: 0.5, message: 'half', attempt: 1 })
      await end(store, given, clock.now() + 7, { kind: 'upstream', code: 'NO_ANSWER' })

      const [call] = (await store.calls.page({ tenant: 'main', filter: {}, limit: 9, scan: SCAN })).calls

      const { tenant, owner, caller, requestId, sessionId, parentId, idempotencyKey, operation, extras } = given
      expect(call).toEqual({
        ...{ id: given.id, tenant, owner, caller, requestId, sessionId, parentId, idempotencyKey, operation, extras },
        ...{ state: 'error', attempt: 1, settled: 0, failures: 0, createdAt: given.createdAt },
        ...{ expiresAt: given.expiresAt, endedAt: clock.now() + 7 },
        progress: { fraction: 0.5, message: 'half', attempt: 1 },
        fault: { kind: 'upstream', code: 'NO_ANSWER' },
      })
    })

    story('a page after an id is the same whatever is accepted or removed meanwhile', async (store, clock) => {
      await acceptAll(store, clock, [10, 20, 30, 40, 50])
      const first = await idsOf(store, {}, { limit: 2 })

      await acceptAll(store, clock, [60, 70])
      await expireNow(store, [sampleId(40)])
      const second = await idsOf(store, {}, { limit: 2, after: first.next as string })

      expect(first.ids).toEqual([50, 40].map(sampleId))
      expect(second).toEqual({ ids: [30, 20].map(sampleId), next: sampleId(20), complete: true })
    })

    story('an ended call past its retention is not listed, even if it is not removed yet', async (store, clock) => {
      const times = { expiresAt: clock.now() + 1_000, keepUntil: clock.now() + 2_000 }
      const short = sampleInstance(clock.now(), { id: sampleId(1), ...times })
      await store.accept(short)
      await acceptAll(store, clock, [2])
      await end(store, short, clock.now())

      clock.advance(1_500)
      const kept = await idsOf(store)
      clock.advance(1_000)
      const past = await idsOf(store)

      expect(kept.ids).toEqual([2, 1].map(sampleId))
      expect(past.ids).toEqual([sampleId(2)])
    })

    story('a tenant sees only its own calls, by whatever filter', async (store, clock) => {
      const other = { tenant: 'other', owner: 'none|eve', extras: { calledBy: sampleId(9), replayOf: sampleId(8) } }
      await acceptAll(store, clock, [1, 3])
      const theirs = sampleInstance(clock.now(), { id: sampleId(2), ...other, args: { find: 'me' } })
      await store.accept(theirs)
      await end(store, theirs, clock.now(), { kind: 'upstream', code: 'X' })

      expect((await idsOf(store)).ids).toEqual([3, 1].map(sampleId))
      expect((await idsOf(store, {}, { tenant: 'other' })).ids).toEqual([sampleId(2)])
      expect((await idsOf(store, {}, { tenant: 'none' })).ids).toEqual([])
      const filters: CallFilter[] = [
        { owner: 'none|eve' },
        { states: ['error'] },
        { code: 'X' },
        { parent: sampleId(9) },
        { replayOf: sampleId(8) },
        { text: 'find' },
      ]
      for (const filter of filters) {
        expect((await idsOf(store, filter)).ids).toEqual([])
        expect(await store.calls.count({ tenant: 'main', filter, scan: SCAN })).toMatchObject({ total: 0 })
        expect((await idsOf(store, filter, { tenant: 'other' })).ids).toEqual([sampleId(2)])
      }
    })

    story('every filter finds the calls that it describes', async (store, clock) => {
      const now = clock.now()
      const make = (n: number, more: Partial<Instance>) => sampleInstance(now, { id: sampleId(n), ...more })
      const calls = [
        make(1, { operation: 'v1:orders.get@1.0.0' }),
        make(2, { operation: 'v1:orders.get@1.2.0', owner: 'none|bob' }),
        make(3, { operation: 'v1:orders.getAll@1.0.0', sessionId: 's%' }),
        make(4, { operation: 'v2:orders.get@2.0.0', idempotencyKey: 'k_1' }),
        make(5, { extras: { held: true } }),
        make(6, { extras: { replayOf: sampleId(1), unbegun: 1 }, attempt: 2, state: 'pending' }),
        make(7, { extras: { calledBy: sampleId(1) }, lineage: ['v1:a@1.0.0'], createdAt: now - 60_000 }),
        make(8, { state: 'streaming', attempt: 1, model: 'stream', dueAt: now + 9_000 }),
      ]
      for (const call of calls) await store.accept(call)
      await end(store, calls[0] as Instance, now + 5)
      await end(store, calls[1] as Instance, now + 5, { kind: 'upstream', code: 'GONE' })
      await end(store, calls[2] as Instance, now + 5, { kind: 'domain', code: 'GONE' })

      const expected: [CallFilter, number[]][] = [
        [{ operation: 'v1:orders.get' }, [2, 1]],
        [{ operation: 'v1:orders.get@1.2.0' }, [2]],
        [{ operation: 'v1:orders.*' }, [3, 2, 1]],
        [{ operation: '*' }, [8, 7, 6, 5, 4, 3, 2, 1]],
        [{ operation: 'v1:orders.%' }, []],
        [{ owner: 'none|bob' }, [2]],
        [{ owner: 'none|%' }, []],
        [{ states: ['error'] }, [3, 2]],
        [{ states: ['complete', 'error'] }, [3, 2, 1]],
        [{ states: ['accepted', 'streaming'] }, [8, 7, 5, 4]],
        [{ states: [] }, []],
        [{ held: true }, [5]],
        [{ held: false }, [8, 7, 6, 4, 3, 2, 1]],
        [{ code: 'GONE' }, [3, 2]],
        [{ code: 'GONE', kinds: ['domain'] }, [3]],
        [{ kinds: ['domain', 'upstream'] }, [3, 2]],
        [{ kinds: [] }, []],
        [{ sessionId: 's%' }, [3]],
        [{ sessionId: '%' }, []],
        [{ idempotencyKey: 'k_1' }, [4]],
        [{ idempotencyKey: 'k11' }, []],
        [{ parent: sampleId(1) }, [7]],
        [{ replayOf: sampleId(1) }, [6]],
        [{ minStarts: 1 }, [8, 6]],
        [{ minStarts: 2 }, []],
        [{ minMs: 1_000 }, [7]],
        [{ minMs: 5, states: ['complete'] }, [1]],
        [{ minMs: 6, states: ['complete'] }, []],
        [{ owner: 'none|bob', operation: 'v1:orders.*', code: 'GONE' }, [2]],
      ]
      for (const [filter, numbers] of expected) {
        expect({ filter, ...(await idsOf(store, filter)) }).toEqual({
          filter,
          ids: numbers.map(sampleId),
          complete: true,
        })
        const { total } = await store.calls.count({ tenant: 'main', filter, scan: SCAN })
        expect({ filter, total }).toEqual({ filter, total: numbers.length })
      }
    })

    story(
      'a text is found in arguments and outcomes as it is written, without regard to case',
      async (store, clock) => {
        const make = (n: number, args: Instance['args']) => sampleInstance(clock.now(), { id: sampleId(n), args })
        const failing = make(4, {})
        for (const call of [
          make(1, { name: 'Ada LOVELACE' }),
          make(2, { name: 'a "quoted" 100%_sure' }),
          make(3, { name: 'straße\nÜbung' }),
          failing,
        ])
          await store.accept(call)
        await end(store, failing, clock.now(), { kind: 'domain', code: 'NO', message: 'Lovelace is away' })
        const expected: [string, number[]][] = [
          ['lovelace', [4, 1]],
          ['a "quoted"', [2]],
          ['100%_s', [2]],
          ['%', [2]],
          ['_', [2]],
          ['ÜBUNG', [3]],
          ['e\nÜ', [3]],
          ['\\', []],
          ['x'.repeat(10_000), []],
          ["'; DROP TABLE instances; --", []],
        ]
        for (const [text, numbers] of expected) {
          expect({ text, ids: (await idsOf(store, { text })).ids }).toEqual({ text, ids: numbers.map(sampleId) })
        }
      },
    )

    story('since and until are times in the ids', async (store, clock) => {
      const ids = [1_000, 2_000, 3_000].map((ms) => idAt(ms).replace('-0000-0000-', '-7000-8000-'))
      for (const id of ids) await store.accept(sampleInstance(clock.now(), { id }))

      expect((await idsOf(store, { since: 2_000 })).ids).toEqual([ids[2], ids[1]])
      expect((await idsOf(store, { until: 2_000 })).ids).toEqual([ids[0]])
      expect((await idsOf(store, { since: 1_001, until: 3_000 })).ids).toEqual([ids[1]])
      expect((await idsOf(store, { since: 2_000 }, { after: ids[2] as string })).ids).toEqual([ids[1]])
      expect((await idsOf(store, { until: 2_000 }, { after: ids[2] as string })).ids).toEqual([ids[0]])
      expect((await idsOf(store, { since: 2 ** 53, until: -5 })).ids).toEqual([])
    })

    story('ids that are none end nothing', async (store, clock) => {
      await acceptAll(store, clock, [1])
      for (const id of ['', 'x', '%', '\u0000', 'zzzz', sampleId(1).toUpperCase()]) {
        expect((await idsOf(store, { parent: id })).ids).toEqual([])
        expect((await idsOf(store, { replayOf: id })).ids).toEqual([])
      }
      expect((await idsOf(store, { code: '\u0000' })).ids).toEqual([])
      expect((await idsOf(store, { owner: '\u0000', operation: '\u0000*', sessionId: '\u0000' })).ids).toEqual([])
    })

    story('the search for a text stops after a number of calls and says where to go on', async (store, clock) => {
      const numbers = [1, 2, 3, 4, 5, 6, 7]
      for (const n of numbers)
        await store.accept(sampleInstance(clock.now(), { id: sampleId(n), args: { n: n === 2 ? 'needle' : 'hay' } }))
      const found: string[] = []
      const stops: unknown[] = []
      let after: string | undefined
      do {
        const page = await idsOf(store, { text: 'needle' }, { scan: 3, ...(after && { after }) })
        found.push(...page.ids)
        stops.push([page.next, page.complete])
        after = page.next
      } while (after)

      expect(found).toEqual([sampleId(2)])
      expect(stops).toEqual([
        [sampleId(5), false],
        [sampleId(2), false],
        [undefined, true],
      ])
      const count = await store.calls.count({ tenant: 'main', filter: { text: 'needle' }, scan: 3 })
      expect(count).toEqual({ total: 0, capped: true, groups: [] })
    })

    story('calls are counted by state, operation, code and owner', async (store, clock) => {
      const make = (n: number, more: Partial<Instance> = {}) =>
        sampleInstance(clock.now(), { id: sampleId(n), ...more })
      const calls = [
        make(1),
        make(2, { owner: 'none|bob' }),
        make(3, { operation: 'v1:reports.generate@1.1.0' }),
        make(4),
      ]
      for (const call of calls) await store.accept(call)
      await end(store, calls[0] as Instance, clock.now(), { kind: 'upstream', code: 'GONE' })
      const count = (by: 'state' | 'operation' | 'code' | 'owner') =>
        store.calls.count({ tenant: 'main', filter: {}, by, scan: SCAN })

      expect(await count('state')).toEqual({
        total: 4,
        capped: false,
        groups: [
          { value: 'accepted', count: 3 },
          { value: 'error', count: 1 },
        ],
      })
      expect((await count('operation')).groups).toEqual([{ value: 'v1:reports.generate', count: 4 }])
      expect((await count('code')).groups).toEqual([{ value: 'GONE', count: 1 }])
      expect((await count('owner')).groups).toEqual([
        { value: 'none|ada', count: 3 },
        { value: 'none|bob', count: 1 },
      ])
    })
  })

  describe('the history of attempts', () => {
    const claim = async (store: Store, leaseMs: number) => {
      const { instances } = await store.claim({ operations: ['v1:reports.generate@1.0.0'], limit: 9, leaseMs })
      return instances[0] as Instance
    }

    story('a call that was started at its acceptance and ended has no past', async (store, clock) => {
      const begun = sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + 1_000 })
      await store.accept(begun)
      expect(await store.calls.attempts(begun.id)).toEqual({ past: [], startedAt: begun.createdAt })

      await end(store, begun, clock.now() + 5)

      expect(await store.calls.attempts(begun.id)).toEqual({ past: [], startedAt: begun.createdAt })
      expect(await store.calls.attempts(sampleId(404))).toBe(undefined)
    })

    story(
      'a failed attempt is in the history if its change applies, and the next has its own start',
      async (store, clock) => {
        const call = sampleInstance(clock.now(), { dueAt: clock.now() })
        await store.accept(call)
        expect(await store.calls.attempts(call.id)).toEqual({ past: [] })
        clock.advance(10)
        const first = await claim(store, 1_000)
        const startedAt = clock.now()
        expect(await store.calls.attempts(call.id)).toEqual({ past: [], startedAt })
        const past = {
          attempt: 1,
          outcome: 'failed' as const,
          startedAt,
          endedAt: startedAt + 3,
          code: 'X',
          message: 'No.',
        }
        const later = {
          id: call.id,
          from: statesBefore('pending'),
          to: 'pending' as const,
          settled: 1,
          failures: 1,
          past,
        }

        await store.advance({ ...later, attempt: first.attempt, dueAt: clock.now() + 500 })
        await store.advance({ ...later, attempt: first.attempt + 7, dueAt: clock.now() })

        expect(await store.calls.attempts(call.id)).toEqual({ past: [past] })
        clock.advance(500)
        const second = await claim(store, 1_000)
        const again = { ...past, attempt: 2, startedAt: clock.now(), endedAt: clock.now() }
        await store.advance({ ...later, attempt: second.attempt, settled: 2, past: again, dueAt: clock.now() })
        const third = await claim(store, 1_000)
        await end(store, third, clock.now())
        expect(await store.calls.attempts(call.id)).toEqual({ past: [past, again], startedAt: clock.now() })
      },
    )

    story('an attempt whose lease ran out is in the history once it is taken again', async (store, clock) => {
      const begun = sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + 1_000 })
      await store.accept(begun)
      clock.advance(2_000)
      const second = await claim(store, 1_000)
      const secondAt = clock.now()
      clock.advance(3_000)
      const third = await claim(store, 1_000)

      expect([second.attempt, third.attempt]).toEqual([2, 3])
      const cutOff = { outcome: 'cut-off', endedAt: begun.createdAt + 1_000 }
      expect(await store.calls.attempts(begun.id)).toEqual({
        past: [
          { ...cutOff, attempt: 1, startedAt: begun.createdAt },
          { ...cutOff, attempt: 2, startedAt: secondAt, endedAt: secondAt + 1_000 },
        ],
        startedAt: clock.now(),
      })
    })

    story('an attempt that was handed back is not cut off', async (store, clock) => {
      const begun = sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + 1_000 })
      await store.accept(begun)
      clock.advance(2_000)
      const second = await claim(store, 1_000)
      const back = { id: begun.id, from: statesBefore('pending'), to: 'pending' as const, attempt: second.attempt }
      await store.advance({ ...back, settled: second.settled + 1, extras: { unbegun: 1 }, dueAt: clock.now() })
      await claim(store, 1_000)

      const history = await store.calls.attempts(begun.id)

      expect(history?.past.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([[1, 'cut-off']])
      expect(history?.startedAt).toBe(clock.now())
    })
  })
}

async function acceptAll(store: Store, clock: ManualClock, numbers: readonly number[]): Promise<void> {
  for (const n of numbers) await store.accept(sampleInstance(clock.now(), { id: sampleId(n) }))
}

interface EndingFault {
  kind: FaultKind
  code: string
  message?: string
}

async function end(store: Store, { id, attempt }: Instance, endedAt: number, fault?: EndingFault): Promise<void> {
  const to = fault ? 'error' : 'complete'
  await store.advance({
    ...{ id, attempt, from: statesBefore(to), to, endedAt },
    outcome: fault
      ? { kind: 'fault', fault: { message: 'It failed.', retryable: false, ...fault } }
      : { kind: 'result', value: 1 },
  })
}
