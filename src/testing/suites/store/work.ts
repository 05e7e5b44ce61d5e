/** Part of the store suite: workers, their leases, and the race to end a call. */

import { statesBefore } from '../../../core/call/state.ts'
import type { Change, Claim, Store } from '../../../core/ports/store.ts'
import type { ManualClock } from '../../fakes/clock.ts'
import { sampleId, sampleInstance } from '../../fakes/instances.ts'
import type { TestRunner } from '../runner.ts'
import type { StoreStory } from './store.ts'

const OPERATIONS = ['v1:reports.generate@1.0.0']
const LEASE_MS = 30_000
const CLAIM: Claim = { operations: OPERATIONS, limit: 10, leaseMs: LEASE_MS }

function completing(id: string, changes: Partial<Change> = {}): Change {
  return { id, from: statesBefore('complete'), to: 'complete', outcome: { kind: 'result', value: 1 }, ...changes }
}

async function acceptDue(store: Store, clock: ManualClock, ...dueIn: number[]) {
  const instances = dueIn.map((ms) => sampleInstance(clock.now(), { dueAt: clock.now() + ms }))
  await Promise.all(instances.map((instance) => store.accept(instance)))
  return instances.map(({ id }) => id)
}

const claimedIds = async (store: Store, claim = CLAIM) => (await store.claim(claim)).instances.map(({ id }) => id)

export function describeWork({ describe, expect }: TestRunner, story: StoreStory): void {
  describe('handing out work', () => {
    story('the store tells the time by its own clock', async (store, clock) => {
      const before = store.now()
      clock.advance(5_000)

      expect([before, store.now()]).toEqual([clock.now() - 5_000, clock.now()])
    })

    story(
      'due instances are handed out in the order in which they became due, each to one claim',
      async (store, clock) => {
        const dueIn = [-10, -50, -30, -20, -40, 5_000]
        const [fifth, first, third, fourth, second, future] = (await acceptDue(store, clock, ...dueIn)) as string[]

        const one = await store.claim({ ...CLAIM, limit: 1 })
        const rest = await store.claim(CLAIM)

        expect(one.instances).toMatchObject([{ id: first, state: 'pending', attempt: 1 }])
        expect(one.nextDueAt).toBe(clock.now() - 40)
        expect(rest.instances.map(({ id }) => id)).toEqual([second, third, fourth, fifth])
        expect(rest.nextDueAt).toBe(clock.now() + 5_000)
        expect(await store.get(first as string)).toMatchObject({ state: 'pending', attempt: 1 })
        clock.advance(5_000)
        expect(await claimedIds(store)).toEqual([future])
        clock.advance(LEASE_MS)
        const again = await store.claim({ ...CLAIM, limit: 1 })
        expect(again.instances).toMatchObject([{ attempt: 2, dueAt: clock.now() + LEASE_MS }])
        expect(again.instances).toEqual([await store.get(again.instances[0]?.id as string)])
      },
    )

    story('a claim takes only calls of the operations it names, among ten thousand calls', async (store, clock) => {
      const known = Array.from({ length: 10_000 }, (_, i) => `v1:known.op${i}@1.0.0`)
      const mine = sampleInstance(clock.now(), { operation: 'v1:known.op9999@1.0.0', dueAt: clock.now() })
      const foreign = sampleInstance(clock.now(), { operation: 'v1:foreign@1.0.0', dueAt: clock.now() - 1 })
      await Promise.all([store.accept(mine), store.accept(foreign)])

      const claimed = await store.claim({ operations: known, limit: 10, leaseMs: LEASE_MS })

      expect(claimed.instances.map(({ id }) => id)).toEqual([mine.id])
      expect(claimed.nextDueAt).toBe(clock.now() + LEASE_MS)
      expect(await store.claim({ ...CLAIM, operations: [] })).toEqual({ instances: [] })
    })

    story(
      'each claim uses the current content of a list of operations that is changed in place',
      async (store, clock) => {
        const [first, second] = ['v1:first@1.0.0', 'v1:second@1.0.0'] as const
        const both = [first, second].map((operation) => sampleInstance(clock.now(), { operation, dueAt: clock.now() }))
        await Promise.all(both.map((instance) => store.accept(instance)))
        const operations: string[] = [first]
        const claim = async () =>
          (await store.claim({ ...CLAIM, operations })).instances.map(({ operation }) => operation)

        expect(await claim()).toEqual([first])
        operations[0] = second
        expect(await claim()).toEqual([second])
      },
    )

    story('calls that other calls wait for are claimed without a slot, and alone on request', async (store, clock) => {
      const child = sampleInstance(clock.now(), { dueAt: clock.now(), lineage: ['v1:parent@1.0.0'] })
      const [plain] = (await acceptDue(store, clock, -10)) as [string]
      await store.accept(child)

      const alone = await claimedIds(store, { ...CLAIM, onlyChildren: true })
      clock.advance(LEASE_MS)
      const withoutSlot = await claimedIds(store, { ...CLAIM, slots: new Map([[child.operation, 0]]) })

      expect(alone).toEqual([child.id])
      expect(withoutSlot).toEqual([child.id])
      expect(await claimedIds(store)).toEqual([plain])
    })

    story('an expired call is not handed out', async (store, clock) => {
      await store.accept(sampleInstance(clock.now(), { dueAt: clock.now(), expiresAt: clock.now() + 10 }))

      clock.advance(10)

      expect(await store.claim(CLAIM)).toEqual({ instances: [] })
    })

    story(
      'a claim takes no more calls of an operation than it has slots for, and fills up with other operations',
      async (store, clock) => {
        const due = (operation: string, ago: number) =>
          sampleInstance(clock.now(), { operation, dueAt: clock.now() - ago })
        const all = [due('v1:one@1.0.0', 9), due('v1:one@1.0.0', 8), due('v1:any@1.0.0', 7), due('v1:none@1.0.0', 6)]
        for (const instance of all) await store.accept(instance)
        const operations = ['v1:one@1.0.0', 'v1:any@1.0.0', 'v1:none@1.0.0']
        const slots = new Map([
          ['v1:one@1.0.0', 1],
          ['v1:none@1.0.0', 0],
        ])
        const claim = () => store.claim({ operations, limit: 2, slots, leaseMs: LEASE_MS })

        const first = await claim()
        const second = await claim()

        expect(first.instances.map(({ id }) => id)).toEqual([all[0]?.id, all[2]?.id])
        expect(second.instances.map(({ id }) => id)).toEqual([all[1]?.id])
        expect(await store.get(all[3]?.id as string)).toMatchObject({ state: 'accepted', settled: 0 })
      },
    )

    story('a claim names the operations of which it left due calls for lack of slots', async (store, clock) => {
      const accept = (operation: string, owner: string, dueInMs: number) =>
        store.accept(sampleInstance(clock.now(), { operation, owner, dueAt: clock.now() + dueInMs }))
      for (const owner of ['none|ada', 'none|bob']) {
        await accept('v1:none@1.0.0', owner, -2)
        await accept('v1:one@1.0.0', owner, -1)
      }
      await accept('v1:two@1.0.0', 'none|ada', 0)
      await accept('v1:later@1.0.0', 'none|ada', 10)
      const operations = ['v1:none@1.0.0', 'v1:one@1.0.0', 'v1:two@1.0.0', 'v1:later@1.0.0']
      const slots = new Map(operations.map((operation, n) => [operation, n % 3]))
      const full = { slots: 4, reserve: 2, running: [['main', 'none|bob', 2]] as const }

      const { instances, lacking } = await store.claim({ operations, limit: 9, slots, leaseMs: LEASE_MS })
      const none = ['v1:none@1.0.0']
      const admitted = await store.claim({ operations: none, limit: 9, slots, shares: full, leaseMs: LEASE_MS })
      const enough = await store.claim({ operations, limit: 9, leaseMs: LEASE_MS })

      expect(instances.length).toBe(2)
      expect(lacking?.toSorted()).toEqual([
        ['v1:none@1.0.0', 2],
        ['v1:one@1.0.0', 1],
      ])
      expect(admitted).toEqual({ instances: [], lacking: [['v1:none@1.0.0', 1]] })
      expect([enough.instances.length, enough.lacking]).toEqual([3, undefined])
    })

    story('held and ended instances are not handed out', async (store, clock) => {
      await store.accept(sampleInstance(clock.now()))
      const [ended] = await acceptDue(store, clock, -1)
      await store.advance(completing(ended as string))

      expect(await store.claim(CLAIM)).toEqual({ instances: [] })
    })

    story('a stream whose lease is over is handed out, and stays a stream', async (store, clock) => {
      const stream = sampleInstance(clock.now(), { state: 'streaming', attempt: 1, dueAt: clock.now() + LEASE_MS })
      await store.accept(stream)

      const before = await store.claim(CLAIM)
      clock.advance(LEASE_MS)
      const after = await store.claim(CLAIM)

      expect(before.instances).toEqual([])
      expect(after.instances).toMatchObject([{ id: stream.id, state: 'streaming', attempt: 2 }])
    })

    story('a worker that dies loses its lease, and its late write changes nothing', async (store, clock) => {
      const [id] = (await acceptDue(store, clock, 0)) as [string]
      await store.claim(CLAIM)
      clock.advance(LEASE_MS - 1)
      expect(await claimedIds(store)).toEqual([])
      clock.advance(1)

      const [again] = (await store.claim(CLAIM)).instances
      const late = await store.advance(completing(id, { attempt: 1 }))
      const current = await store.advance(completing(id, { attempt: 2 }))

      expect(again).toMatchObject({ id, attempt: 2, state: 'pending' })
      expect(late).toEqual({ applied: false, instance: again })
      expect(current).toMatchObject({ applied: true, instance: { state: 'complete', attempt: 2 } })
    })

    story('a failed attempt comes back after its back-off', async (store, clock) => {
      const [id] = (await acceptDue(store, clock, 0)) as [string]
      await store.claim(CLAIM)
      const dueAt = clock.now() + 250

      const back = await store.advance({
        id,
        from: ['pending'],
        to: 'pending',
        attempt: 1,
        settled: 1,
        failures: 1,
        dueAt,
      })

      expect(back).toMatchObject({ applied: true, instance: { state: 'pending', settled: 1, failures: 1, dueAt } })
      expect(await store.claim(CLAIM)).toEqual({ instances: [], nextDueAt: dueAt })
      clock.advance(250)
      expect((await store.claim(CLAIM)).instances).toMatchObject([{ id, attempt: 2, settled: 1, failures: 1 }])
    })

    story('a call accepted with a lease is handed out when the lease runs out or is released', async (store, clock) => {
      const leased = () => sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + LEASE_MS })
      const [cutOff, handedBack] = [leased(), leased()]
      await Promise.all([store.accept(cutOff), store.accept(handedBack)])
      const { id } = handedBack
      const dueAt = clock.now() + 100

      const back = await store.advance({ id, from: ['pending'], to: 'pending', attempt: 1, settled: 1, dueAt })

      expect(back.instance).toEqual({ ...handedBack, settled: 1, dueAt, revision: 2 })
      clock.advance(100)
      expect((await store.claim(CLAIM)).instances).toMatchObject([{ id, attempt: 2, settled: 1 }])
      clock.advance(LEASE_MS - 100)
      expect((await store.claim(CLAIM)).instances).toMatchObject([{ id: cutOff.id, attempt: 2, settled: 0 }])
    })

    story('extending renews a lease, reports a lost one, and delivers a request to stop', async (store, clock) => {
      const [kept, lost, deferred] = (await acceptDue(store, clock, 0, 0, 0)) as [string, string, string]
      await store.claim(CLAIM)
      await store.advance({ id: deferred, from: ['pending'], to: 'pending', attempt: 1 })
      await store.requestStop(kept)
      await store.advance(completing(lost))
      clock.advance(LEASE_MS - 1)

      const leases = [kept, lost, deferred, 'unknown'].map((id) => ({ id, attempt: 1 }))
      const renewals = await store.extend(leases, LEASE_MS)

      expect(renewals).toEqual([
        { id: kept, attempt: 1, held: true, stopRequested: true },
        { id: lost, attempt: 1, held: false, stopRequested: false },
        { id: deferred, attempt: 1, held: false, stopRequested: false },
        { id: 'unknown', attempt: 1, held: false, stopRequested: false },
      ])
      expect(await store.get(kept)).toMatchObject({ dueAt: clock.now() + LEASE_MS, stopRequested: true, revision: 3 })
      clock.advance(LEASE_MS - 1)
      expect(await claimedIds(store)).toEqual([])
    })
  })

  describe('ending calls', () => {
    story('exactly one of two concurrent ends is applied, and both get the same outcome', async (store, clock) => {
      const [id] = (await acceptDue(store, clock, 0)) as [string]
      const fault = { kind: 'canceled' as const, code: 'CANCELED', message: 'Canceled.', retryable: false }
      const canceling: Change = { id, from: statesBefore('error'), to: 'error', outcome: { kind: 'fault', fault } }

      const [completed, canceled] = await Promise.all([store.advance(completing(id)), store.advance(canceling)])

      expect([completed.applied, canceled.applied]).toEqual([true, false])
      expect(canceled.instance).toEqual(completed.instance)
      expect(await store.get(id)).toEqual(completed.instance)
      expect(completed.instance).toMatchObject({
        state: 'complete',
        outcome: { kind: 'result', value: 1 },
        revision: 2,
      })
    })

    story('a change to a call that does not exist is not applied', async (store) => {
      expect(await store.advance(completing('unknown'))).toEqual({ applied: false })
    })

    story('a released key can be used again', async (store, clock) => {
      const first = sampleInstance(clock.now(), { idempotencyKey: 'k1' })
      await store.accept(first)

      const { instance } = await store.advance(completing(first.id, { to: 'error', releaseKey: true }))

      expect(await store.get(first.id)).toEqual(instance)
      const second = sampleInstance(clock.now(), { idempotencyKey: 'k1' })
      expect(await store.accept(second)).toEqual({ kind: 'created' })
    })

    story('progress is kept for the attempt that runs and ignored from any other', async (store, clock) => {
      const [id] = (await acceptDue(store, clock, 0)) as [string]
      await store.claim(CLAIM)

      await store.progress({ id, attempt: 1 }, { fraction: 0.5, message: 'half way' })
      await store.progress({ id, attempt: 0 }, { fraction: 0.1 })
      expect(await store.get(id)).toMatchObject({ progress: { fraction: 0.5, message: 'half way' }, revision: 3 })

      await store.advance(completing(id, { attempt: 1 }))
      await store.progress({ id, attempt: 1 }, { fraction: 0.9 })
      await store.requestStop(id)
      expect(await store.get(id)).toMatchObject({ progress: { fraction: 0.5 }, stopRequested: false, revision: 4 })
    })

    story('a watcher gets increasing revisions, including the latest', async (store, clock) => {
      const [id] = (await acceptDue(store, clock, 0)) as [string]
      await store.claim(CLAIM)
      const seen: number[] = []
      const leave = store.watch(id, ({ revision }) => seen.push(revision))

      const fractions = Array.from({ length: 20 }, (_, at) => at / 20)
      await Promise.all(fractions.map((fraction) => store.progress({ id, attempt: 1 }, { fraction })))
      await store.tell(id)
      const latest = await store.get(id)
      leave()

      expect(seen.at(-1)).toBe(latest?.revision)
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
    })

    story(
      'a listener gets the changes of all calls until it leaves, even if another one throws',
      async (store, clock) => {
        const seen: string[] = []
        store.listen(() => {
          throw new Error('a listener that fails')
        })
        const leave = store.listen(({ id, state }) => seen.push(`${id} ${state}`))
        const [one, other] = [
          sampleInstance(clock.now()),
          sampleInstance(clock.now(), { id: sampleId(7), requestId: 'r7' }),
        ]
        const end = { from: statesBefore('complete'), to: 'complete' as const, endedAt: clock.now() }

        await store.accept(one)
        await store.accept(other)
        await store.advance({ id: one.id, ...end })
        leave()
        await store.advance({ id: other.id, ...end })

        expect(seen).toEqual([`${one.id} ${one.state}`, `${other.id} ${other.state}`, `${one.id} complete`])
      },
    )

    story('watchers get every change until they leave, even if another watcher throws', async (store, clock) => {
      const [id, other] = (await acceptDue(store, clock, 0, 1)) as [string, string]
      const seen: string[] = []
      store.watch(id, () => {
        throw new Error('a watcher that fails')
      })
      const leave = store.watch(id, ({ state, revision }) => seen.push(`${state} ${revision}`))

      await store.claim(CLAIM)
      await store.progress({ id, attempt: 1 }, { fraction: 0.5 })
      await store.advance(completing(other))
      await store.requestStop(id)
      leave()
      await store.advance(completing(id))

      expect(seen).toEqual(['pending 2', 'pending 3', 'pending 4'])
    })
  })
}
