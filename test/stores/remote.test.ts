/** A store between processes: who is notified, how a fault crosses the connection, and what a dead process leaves. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Instance } from '../../src/core/call/instance.ts'
import { statesBefore } from '../../src/core/call/state.ts'
import { Fault } from '../../src/core/fault.ts'
import type { AuditEnding, Change, Claim, Store } from '../../src/core/ports/store.ts'
import { createChannel, createStoreClient, createStoreServer } from '../../src/stores/hub/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'
import { connectTo } from './remote-pair.ts'

const LEASE_MS = 30_000
const CLAIM: Claim = { operations: ['v1:reports.generate@1.0.0'], limit: 10, leaseMs: LEASE_MS }
const clock = createManualClock()

async function openTwo() {
  const folder = temporaryFolder()
  const kept = createSqliteStore({ file: join(folder, 'calls.db'), clock })
  const server = createStoreServer(kept)
  const [one, two] = [await connectTo(server, join(folder, '1')), await connectTo(server, join(folder, '2'))]
  onTestFinished(async () => {
    await Promise.all([one.end(), two.end()])
    await kept.close()
  })
  return {
    kept,
    one,
    here: createStoreClient(one.channel, { clock }),
    there: createStoreClient(two.channel, { clock }),
  }
}

/** Accepted by this process, to be run by it at once. */
async function running(store: Store): Promise<Instance> {
  const instance = sampleInstance(clock.now(), { state: 'pending', attempt: 1, dueAt: clock.now() + LEASE_MS })
  await store.accept(instance)
  return instance
}

const ending = ({ id }: Instance, more: Partial<Change> = {}): Change => ({
  id,
  from: ['accepted', 'pending'],
  to: 'complete',
  attempt: 1,
  outcome: { kind: 'result', value: 1 },
  endedAt: clock.now(),
  ...more,
})

const AUDIT: AuditEnding = { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' }

function heard(store: Store, { id }: Instance): string[] {
  const seen: string[] = []
  store.watch(id, ({ state, revision }) => seen.push(`${state} ${revision}`))
  return seen
}

test('both processes get every change once and in order, from either process', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)
  const [mine, theirs] = [heard(here, instance), heard(there, instance)]
  await there.get(instance.id)

  await Promise.all([
    here.progress({ id: instance.id, attempt: 1 }, { fraction: 0.5 }),
    there.requestStop(instance.id),
    here.advance({ id: instance.id, from: ['pending'], to: 'pending', attempt: 1, dueAt: clock.now() + LEASE_MS }),
  ])
  await here.advance(ending(instance))
  await Promise.all([here.get(instance.id), there.get(instance.id)])

  expect(mine).toEqual(['pending 2', 'pending 3', 'pending 4', 'complete 5'])
  expect(theirs).toEqual(mine)
})

test('a watcher in the process that runs a call gets the changes of other processes', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)
  const mine = heard(here, instance)

  await there.requestStop(instance.id)
  await here.get(instance.id)

  expect(mine).toEqual(['pending 2'])
})

test('a watcher in the process that handed a call back gets its end from another process', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)
  const mine = heard(here, instance)

  await here.advance({ id: instance.id, from: ['pending'], to: 'pending', settled: 1, dueAt: clock.now() })
  const [taken] = (await there.claim(CLAIM)).instances
  await there.advance(ending(instance, { attempt: 2 }))
  await here.get(instance.id)

  expect(taken).toMatchObject({ id: instance.id, attempt: 2, settled: 1 })
  expect(mine).toEqual(['pending 2', 'pending 3', 'complete 4'])
})

test('a watcher in a process that lost its lease gets the end as well', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)
  const mine = heard(here, instance)

  clock.advance(LEASE_MS)
  await there.claim(CLAIM)
  await there.advance(ending(instance, { attempt: 2 }))
  const late = await here.advance(ending(instance))

  expect(late).toMatchObject({ applied: false, instance: { state: 'complete', attempt: 2 } })
  expect(mine).toEqual(['pending 2', 'complete 3'])
})

test('a watcher that starts after the process lost its lease gets the end as well', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)
  clock.advance(LEASE_MS)
  await there.claim(CLAIM)
  await here.get(instance.id)

  const mine = heard(here, instance)
  await here.get(instance.id)
  await there.advance(ending(instance, { attempt: 2 }))
  await here.get(instance.id)

  expect(mine).toEqual(['complete 3'])
})

test('a watcher in the process that runs a call gets its progress, also from a report under way', async () => {
  const { here } = await openTwo()
  const [watched, reported] = [await running(here), await running(here)]
  const before = heard(here, watched)

  const reports = [watched, reported].map(({ id }) => here.progress({ id, attempt: 1 }, { fraction: 0.5 }))
  const meanwhile = heard(here, reported)
  await Promise.all(reports)
  await here.get(reported.id)

  expect([before, meanwhile]).toEqual([['pending 2'], ['pending 2']])
})

test('a watcher that starts while a call is handed back gets its end from another process', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)

  const givenBack = here.advance({ id: instance.id, from: ['pending'], to: 'pending', settled: 1, dueAt: clock.now() })
  const mine = heard(here, instance)
  await givenBack
  await there.claim(CLAIM)
  await there.advance(ending(instance, { attempt: 2 }))
  await here.get(instance.id)

  expect(mine).toEqual(['pending 2', 'pending 3', 'complete 4'])
})

test('an end that crosses the news that the lease was lost does not count, and leaves nothing in the trail', async () => {
  const { one, here, there } = await openTwo()
  const instance = await running(here)
  one.channel.on('changed', () => {})
  clock.advance(LEASE_MS)
  await there.claim(CLAIM)

  const late = await here.advance(ending(instance, { from: statesBefore('complete'), audit: AUDIT }))

  expect(late).toMatchObject({ applied: false, instance: { state: 'pending', attempt: 2 } })
  expect(await there.audit.list({ tenant: instance.tenant, limit: 1 })).toEqual([])
})

test('a process does not count on a call any more whose end could not be stored', async () => {
  const { kept, here } = await openTwo()
  const instance = await running(here)
  const { advance } = kept
  kept.advance = () => Promise.reject(new Fault('unavailable', 'The disk is full. Come back later.'))
  await expect(here.advance(ending(instance))).rejects.toThrow('The disk is full.')
  kept.advance = advance

  const mine = heard(here, instance)
  await here.get(instance.id)
  await kept.advance(ending(instance))
  await here.get(instance.id)

  expect(mine).toEqual(['complete 2'])
})

test('a change of a call that others have changed since is answered with the call as it is', async () => {
  const { here, there } = await openTwo()
  const instance = await running(here)
  await there.requestStop(instance.id)

  const { applied, instance: after } = await here.advance(ending(instance))

  expect(applied).toBe(true)
  expect(after).toEqual(await there.get(instance.id))
  expect(after).toMatchObject({ stopRequested: true, revision: 3, state: 'complete' })
})

test('the trail has what the end said of it, and says it all', async () => {
  const { here, there } = await openTwo()
  const [short, long] = [await running(here), await running(here)]
  const ruled: AuditEnding = { ...AUDIT, rule: 'p.yaml#1', attempts: 2 }
  const from = statesBefore('complete')

  await here.advance(ending(short, { from, audit: AUDIT }))
  await here.advance(ending(long, { from, audit: ruled }))

  const entries = await there.audit.list({ tenant: short.tenant, limit: 2 })
  const ids = ({ id, owner, requestId, operation, fingerprint }: Instance) => ({
    id,
    owner,
    requestId,
    operation,
    fingerprint,
  })
  expect(entries).toHaveLength(2)
  expect(entries).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...ids(short), ...AUDIT }),
      expect.objectContaining({ ...ids(long), ...ruled }),
    ]),
  )
})

test('a fault comes across with everything it says', async () => {
  const { kept, here } = await openTwo()
  const said = new Fault('overloaded', 'The disk is full. Come back later.', {
    code: 'DISK_FULL',
    retryAfterMs: 5_000,
    details: { free: 0 },
  })
  kept.get = () => Promise.reject(said)

  const thrown = await here.get('any').catch((thrown: unknown) => thrown)

  expect(thrown).toBeInstanceOf(Fault)
  expect((thrown as Fault).toRecord()).toEqual(said.toRecord())
})

test('after a process is killed, its calls are due at once, its watches end, and its last write is kept', async () => {
  const folder = temporaryFolder()
  // At the time the other process has, so that its lease has not run out by itself.
  const kept = createSqliteStore({ file: join(folder, 'calls.db'), clock: createManualClock() })
  let watches = 0
  const counted: Store = {
    ...kept,
    watch(id, changed) {
      watches++
      const stop = kept.watch(id, changed)
      return () => {
        watches--
        stop()
      }
    },
  }
  const child = fork(fileURLToPath(new URL('./remote-process.ts', import.meta.url)), ['run'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  const left = createStoreServer(counted).serve(createChannel(child.stdio[4] as unknown as Duplex))
  const [ids] = (await once(child, 'message')) as [string[]]
  expect([ids.length, watches]).toEqual([2, 1])

  child.kill('SIGKILL')

  expect([await left, watches]).toEqual([true, 0])
  const { instances } = await kept.claim(CLAIM)
  expect(instances.map(({ id, attempt, settled }) => ({ id, attempt, settled }))).toEqual([
    { id: ids[0], attempt: 2, settled: 0 },
  ])
  expect(await kept.get(ids[1] as string)).toMatchObject({ state: 'complete' })
  await kept.close()
})

test('if the process with the store is killed, waiting requests fail with advice to retry', async () => {
  const folder = temporaryFolder()
  const child = fork(fileURLToPath(new URL('./remote-process.ts', import.meta.url)), ['keep', join(folder, 'c.db')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  const channel = createChannel(child.stdio[4] as unknown as Duplex)
  const store = createStoreClient(channel, { clock })
  await store.accept(sampleInstance(clock.now()))
  child.kill('SIGSTOP')
  const waiting = [store.get('a'), store.accept(sampleInstance(clock.now())), store.claim(CLAIM)]

  child.kill('SIGKILL')
  const settled = await Promise.allSettled(waiting)
  await channel.closed
  const late = await store.records.get('k').catch((thrown: unknown) => thrown)

  const told = { kind: 'unavailable', code: 'STORE_GONE', retryable: true, retryAfterMs: 1_000 }
  expect(settled).toEqual(waiting.map(() => ({ status: 'rejected', reason: expect.objectContaining(told) })))
  expect(late).toMatchObject(told)
  await store.close()
})
