/** The storage fails briefly at the worst moment: no promise is broken, and no count stays wrong. */
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { Guard } from '../../src/core/ports/guard.ts'
import type { Advanced, Change, Store } from '../../src/core/ports/store.ts'
import { KeptWrites } from '../../src/engine/end/kept-writes.ts'
import type { Approval } from '../../src/engine/wait/approvals.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { createRunEnvironment } from '../../src/testing/run-operation/run-environment.ts'
import { ADA, type Cluster, Gate, Node, openCluster, settled } from './node.ts'

const BOB = { ...ADA, subject: 'bob' }

function trouble(code: string): Fault {
  return new Fault('unavailable', 'The storage cannot take this now.', { code, ofStorage: true })
}

/** Before what the store does to a change, or after it. */
function intercept(cluster: Cluster, { before, after }: Partial<Record<'before' | 'after', (change: Change) => void>>) {
  const { store } = cluster
  cluster.store = {
    ...store,
    async advance(change) {
      before?.(change)
      const advanced = await store.advance(change)
      after?.(change)
      return advanced
    },
  }
}

async function pass(cluster: Cluster, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    cluster.clock.advance(1_000)
    await settled()
  }
}

test('a held call that the storage fails as it begins runs when the storage is back, on the approval it was given', async () => {
  const cluster = openCluster()
  let failures = 0
  let fails = false
  intercept(cluster, {
    before({ to, records }) {
      if (!fails || !records || to !== 'pending') return
      failures++
      throw trouble('STORAGE_FULL')
    },
  })
  let runs = 0
  const pay = operation('v1:pay', { sideEffecting: true, run: () => ++runs })
  const guard: Guard = { decide: () => ({ verdict: 'hold' }) }
  const node = new Node(cluster, { operations: [pay], guards: [guard] })
  await node.call('v1:pay', {}, { idempotencyKey: 'k' }, { hold: true })
  await settled()
  const [approval] = (await node.engine.approvals.pending(ADA.tenant, 10)).approvals as [Approval]

  fails = true
  await node.engine.approvals.decisions.decide(BOB, approval.id, 'approve')
  node.engine.worker.wake()
  await settled()
  const whileItFails = [failures, runs]
  fails = false
  await pass(cluster, 50)

  expect(whileItFails).toEqual([1, 0])
  expect(await cluster.store.get(approval.instanceId as string)).toMatchObject({
    state: 'complete',
    outcome: { kind: 'result', value: 1 },
  })
  expect(runs).toBe(1)
  expect(await node.engine.approvals.get(ADA.tenant, approval.id)).toMatchObject({ status: 'used' })
  expect([node.limits.running, node.limits.open]).toEqual([0, 0])
})

test('an end that was written although the storage said it was not counts as the end', async () => {
  const cluster = openCluster()
  let failures = 0
  intercept(cluster, {
    after({ to }) {
      if (to === 'complete' && failures++ === 0) throw trouble('STORAGE_GONE')
    },
  })
  const told: string[] = []
  const node = new Node(cluster, {
    operations: [operation('v1:work', { model: 'async', run: () => 'done' })],
    observer: { callEnded: (_operation, outcome) => void told.push(outcome) },
  })

  await node.call('v1:work')
  await pass(cluster, 10)

  expect(failures).toBeGreaterThan(0)
  expect(await cluster.find('r1')).toMatchObject({ state: 'complete', outcome: { value: 'done' } })
  expect([node.limits.running, node.limits.open]).toEqual([0, 0])
  expect(told).toEqual(['complete'])
})

/** Ends of one call, kept while the storage fails; `given` says how often each gave its slot back. */
function createKept() {
  const clock = createManualClock()
  const instance = sampleInstance(clock.now(), { state: 'pending', attempt: 1 })
  const change: Change = { id: instance.id, from: ['pending'], to: 'complete', attempt: 1 }
  const given: number[] = []
  const kept = new KeptWrites({
    env: createRunEnvironment([], clock),
    occupy() {
      const nth = given.push(0) - 1
      return () => {
        given[nth] = (given[nth] ?? 0) + 1
      }
    },
  })
  return { clock, instance, change, given, kept, advanced: { applied: true, instance } satisfies Advanced }
}

test('of two ends that are kept for one call the older counts no more, and each gives its slot back once', async () => {
  const { clock, instance, change, given, kept, advanced } = createKept()

  const older = kept.keep(instance, change, () => Promise.reject(new Error('It is not tried.')))
  const newer = kept.keep({ ...instance, attempt: 2 }, { ...change, attempt: 2 }, async () => advanced)
  clock.advance(100)
  await settled()

  expect(given).toEqual([1, 1])
  expect(await Promise.all([older, newer])).toEqual([undefined, advanced])
})

test.each([
  ['is made', (gate: Gate<Advanced>, advanced: Advanced) => gate.pass().then(() => advanced)],
  ['fails', (gate: Gate<Advanced>) => gate.pass().then(() => Promise.reject(trouble('STORAGE_FULL')))],
])('a newer end is written though the write of the older one, which %s, is still under way', async (_how, write) => {
  const { clock, instance, change, given, kept, advanced } = createKept()
  const gate = new Gate<Advanced>()
  const older = kept.keep(instance, change, () => write(gate, advanced))
  clock.advance(100)
  await gate.reached

  const newer = kept.keep({ ...instance, attempt: 2 }, { ...change, attempt: 2 }, async () => advanced)
  gate.open(advanced)
  await settled()
  clock.advance(100)
  await settled()

  expect(given).toEqual([1, 1])
  expect(await Promise.all([older, newer])).toEqual([undefined, advanced])
})

test('a lease that a node takes again to write the end of a try is not counted as an attempt', async () => {
  const cluster = openCluster()
  let fails = true
  intercept(cluster, {
    before({ to, failures }) {
      if (fails && to === 'pending' && failures === 1) throw trouble('STORAGE_FULL')
    },
  })
  const { extend } = cluster.store
  const extendNow: Store['extend'] = (...leases) =>
    fails ? Promise.reject(trouble('STORAGE_FULL')) : extend(...leases)
  cluster.store = { ...cluster.store, extend: extendNow }
  const attempts: number[] = []
  const work = operation('v1:work', {
    model: 'async',
    retry: { attempts: 3, backoffMs: 1 },
    run(_args, context) {
      attempts.push(context.attempt)
      if (attempts.length < 3) context.fail('BUSY', 'Later.', { retryable: true })
      return 'done'
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work')
  node.engine.worker.wake()

  // The lease runs out, and the node claims the call whose end of a try it keeps.
  await pass(cluster, 100)
  const { attempt } = await cluster.find('r1')
  fails = false
  await pass(cluster, 50)

  expect(attempt).toBeGreaterThan(1)
  expect(attempts).toEqual([1, 2, 3])
  expect(await cluster.find('r1')).toMatchObject({ state: 'complete', failures: 2 })
})

test('a call that finds no slot when it is claimed is in the queue again, until it starts', async () => {
  const cluster = openCluster()
  const gate = new Gate<string>()
  const work = operation('v1:work', { model: 'async', run: () => gate.pass() })
  const { store } = cluster
  const [taken, other] = [{ key: 'v1:work@1.0.0' } as Operation, { tenant: 'main', owner: 'test|bob' }]
  let claims = 0
  // While the first claim is under way, another call takes the slot that it was made for.
  const claim: Store['claim'] = async (wanted) => {
    const claimed = await store.claim(wanted)
    if (claimed.instances.length > 0 && claims++ === 0) node.limits.started(taken, other)
    return claimed
  }
  cluster.store = { ...store, claim }
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1, reservedCalls: 0 } })
  node.limits.started(taken, other)
  await node.call('v1:work')
  const waiting = node.limits.queued

  node.limits.ended(taken, other)
  await settled()
  const givenBack = [node.limits.queued, (await store.openCounts()).queued]
  node.limits.ended(taken, other)
  await gate.reached

  expect(waiting).toBe(1)
  expect(givenBack).toEqual([1, 1])
  expect([node.limits.queued, (await store.openCounts()).queued]).toEqual([0, 0])
  gate.open('done')
  await cluster.ended((await cluster.find('r1')).id)
})
