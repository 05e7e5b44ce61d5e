/**
 * Nodes that hang, die or shut down: their calls continue elsewhere, once, and late reports from them change nothing.
 */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { verifies } from '../requirements.ts'
import { ADA, Gate, LEASE_MS, Node, openCluster, STOP_GRACE_MS, settled } from './node.ts'

test('a call whose worker died is run by another, and late writes of the dead worker are ignored', async () => {
  verifies('opencall:291')
  const cluster = openCluster()
  const slow = new Gate<string>()
  const work = (run: () => unknown) => operation('v1:work', { model: 'async', run })
  const first = new Node(cluster, { operations: [work(() => slow.pass())] })
  const second = new Node(cluster, { operations: [work(() => 'second')] })
  await first.call('v1:work')
  const { id } = await cluster.find('r1')
  await slow.reached

  first.kill()
  cluster.clock.advance(LEASE_MS)
  second.engine.worker.wake()
  const ended = await cluster.ended(id)
  slow.open('first')
  await settled()

  expect(ended).toMatchObject({ state: 'complete', attempt: 2, outcome: { kind: 'result', value: 'second' } })
  expect(await cluster.store.get(id)).toEqual(ended)
  expect(first.log).toMatchObject([{ level: 'warn', message: expect.stringContaining('lost the lease') }])
})

test('a result that comes after the call was taken over does not end it while the other still works', async () => {
  const cluster = openCluster()
  const [slow, working] = [new Gate<string>(), new Gate<string>()]
  const work = (gate: Gate<string>) => operation('v1:work', { model: 'async', run: () => gate.pass() })
  const first = new Node(cluster, { operations: [work(slow)] })
  const second = new Node(cluster, { operations: [work(working)] })
  await first.call('v1:work')
  await slow.reached
  first.kill()
  cluster.clock.advance(LEASE_MS)
  second.engine.worker.wake()
  await working.reached

  slow.open('first')
  await settled()
  const meanwhile = await cluster.find('r1')
  working.open('second')

  expect(meanwhile).toMatchObject({ state: 'pending', attempt: 2 })
  expect(await cluster.ended(meanwhile.id)).toMatchObject({ outcome: { value: 'second' } })
})

test('a worker that lives keeps its lease, however long the handler takes', async () => {
  const cluster = openCluster()
  const slow = new Gate<string>()
  let others = 0
  const work = (run: () => unknown) => operation('v1:work', { model: 'async', run })
  const first = new Node(cluster, { operations: [work(() => slow.pass())] })
  const second = new Node(cluster, { operations: [work(() => others++)] })
  await first.call('v1:work')
  const { id } = await cluster.find('r1')
  await slow.reached

  for (let third = 0; third < 12; third++) {
    cluster.clock.advance(LEASE_MS / 3)
    await settled()
    second.engine.worker.wake()
    await settled()
  }
  slow.open('first')

  expect(await cluster.ended(id)).toMatchObject({ attempt: 1, outcome: { value: 'first' } })
  expect(others).toBe(0)
})

test('a worker that hung for longer than its lease tells its handler to stop when it finds out', async () => {
  const cluster = openCluster()
  const held = new Gate<string>()
  let signal: AbortSignal | undefined
  const first = new Node(cluster, {
    operations: [
      operation('v1:work', {
        model: 'async',
        run: (_args, ctx) => {
          signal = ctx.signal
          return held.pass()
        },
      }),
    ],
  })
  const second = new Node(cluster, { operations: [operation('v1:work', { model: 'async', run: () => 'second' })] })
  await first.call('v1:work')
  await held.reached

  first.freeze()
  cluster.clock.advance(LEASE_MS)
  second.engine.worker.wake()
  await cluster.ended((await cluster.find('r1')).id)
  expect(signal?.aborted).toBe(false)
  first.thaw()
  await settled()

  expect(signal?.reason).toMatchObject({ code: 'LEASE_LOST' })
  held.open('first')
})

test('a handler that goes on under a lease that its node took again is one attempt', async () => {
  const cluster = openCluster()
  const held = new Gate<void>()
  const attempts: number[] = []
  const work = operation('v1:work', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 1 },
    async run(_args, context) {
      attempts.push(context.attempt)
      if (attempts.length > 1) return 'done'
      await held.pass()
      return context.fail('BUSY', 'Later.', { retryable: true })
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work')
  await held.reached

  node.freeze()
  cluster.clock.advance(LEASE_MS)
  // The claim comes before the renewal of the lease.
  node.engine.worker.wake()
  await settled()
  const { attempt, id } = await cluster.find('r1')
  node.thaw()
  held.open()
  await cluster.until(id, ({ failures }) => failures === 1)
  cluster.clock.advance(1_000)
  await cluster.ended(id)

  expect(attempt).toBe(2)
  expect(attempts).toEqual([1, 2])
})

test('an accepted call survives a restart: it is run again with the same key and the next attempt number', async () => {
  verifies('opencall:294')
  const cluster = openCluster()
  const seen: [string, number][] = []
  const stuck = new Gate()
  const work = (run: () => unknown) =>
    operation('v1:work', {
      model: 'async',
      run: (_args, { key, attempt }) => {
        seen.push([key, attempt])
        return run()
      },
    })
  const before = new Node(cluster, { operations: [work(() => stuck.pass())], limits: { runningCalls: 1 } })
  await before.call('v1:work', {}, { requestId: 'running' })
  await before.call('v1:work', {}, { requestId: 'queued' })
  await stuck.reached
  const [running, queued] = [await cluster.find('running'), await cluster.find('queued')]
  expect([running.state, queued.state]).toEqual(['pending', 'accepted'])

  before.kill()
  await cluster.restart()
  // The process that held the lease is dead, so its lease ends at once.
  const free = { ...running, dueAt: cluster.clock.now() }
  expect([await cluster.find('running'), await cluster.find('queued')]).toEqual([free, queued])
  const after = new Node(cluster, { operations: [work(() => 'done')] })
  after.engine.worker.wake()

  expect(await cluster.ended(running.id)).toMatchObject({ state: 'complete', attempt: 2 })
  expect(await cluster.ended(queued.id)).toMatchObject({ state: 'complete', attempt: 1 })
  expect(seen).toEqual([
    [running.id, 1],
    [running.id, 2],
    [queued.id, 1],
  ])
})

test('a sync call with effects that a crash cut off ends as unknown, stays so, and is not run again', async () => {
  const cluster = openCluster()
  const stuck = new Gate()
  let again = 0
  const charge = (run: () => unknown) => operation('v1:charge', { sideEffecting: true, run })
  const before = new Node(cluster, { operations: [charge(() => stuck.pass())] })
  void before.call('v1:charge', {}, { idempotencyKey: 'k1' })
  await stuck.reached
  const { id } = await cluster.find('r1')

  before.kill()
  await cluster.restart()
  cluster.clock.advance(LEASE_MS)
  const after = new Node(cluster, { operations: [charge(() => again++)] })
  after.engine.worker.wake()
  const ended = await cluster.ended(id)
  const repeated = await after.call('v1:charge', {}, { requestId: 'again', idempotencyKey: 'k1' })

  expect(ended).toMatchObject({ state: 'error', outcome: { fault: { kind: 'outcome-unknown', retryable: false } } })
  expect(repeated).toMatchObject({ state: 'error', requestId: 'again', fault: { code: 'OUTCOME_UNKNOWN' } })
  expect(again).toBe(0)
})

test('a call that is cut off again and again is given up: it may be what kills the process', async () => {
  const cluster = openCluster()
  let runs = 0
  const deadly = operation('v1:deadly', {
    model: 'async',
    run: () => {
      runs++
      return new Promise<never>(() => {})
    },
  })
  const options = { operations: [deadly], work: { maxCutOffs: 2 } }
  let node = new Node(cluster, options)
  await node.call('v1:deadly')
  const { id } = await cluster.find('r1')

  for (let life = 1; life <= 3; life++) {
    await cluster.until(id, ({ attempt }) => attempt === life)
    await settled()
    node.kill()
    cluster.clock.advance(LEASE_MS)
    node = new Node(cluster, options)
    node.engine.worker.wake()
  }

  expect(await cluster.ended(id)).toMatchObject({ state: 'error', outcome: { fault: { code: 'CUT_OFF' } } })
  expect(runs).toBe(3)
})

test('a shutdown lets what runs end within the grace, and starts nothing new', async () => {
  const cluster = openCluster()
  const slow = new Gate<string>()
  const work = operation('v1:work', { model: 'async', run: () => slow.pass() })
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })
  await node.call('v1:work', {}, { requestId: 'running' })
  await node.call('v1:work', {}, { requestId: 'queued' })
  await slow.reached

  const stopping = node.engine.worker.stop(10_000)
  cluster.clock.advance(9_999)
  slow.open('done')
  await stopping

  expect(await cluster.find('running')).toMatchObject({ state: 'complete', outcome: { value: 'done' } })
  expect(await cluster.find('queued')).toMatchObject({ state: 'accepted', attempt: 0 })
  expect(slow.runs).toBe(1)
})

test('a call that does not end within the grace period is handed back at once, and uses none of its attempts', async () => {
  const cluster = openCluster()
  const stuck = new Gate()
  const work = (run: () => unknown) => operation('v1:work', { model: 'async', run })
  const first = new Node(cluster, { operations: [work(() => stuck.pass())] })
  await first.call('v1:work')
  await stuck.reached

  const stopping = first.engine.worker.stop(1_000)
  cluster.clock.advance(1_000 + STOP_GRACE_MS)
  await stopping
  const handedBack = await cluster.find('r1')
  const second = new Node(cluster, { operations: [work(() => 'done')] })
  second.engine.worker.wake()

  expect(handedBack).toMatchObject({ state: 'pending', settled: 1, failures: 0, dueAt: cluster.clock.now() })
  expect(await cluster.ended(handedBack.id)).toMatchObject({ state: 'complete', outcome: { value: 'done' } })
})

test('a call that a worker took and gave back before the handler started begins with its first attempt elsewhere', async () => {
  const cluster = openCluster()
  const claimed = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const slow: Store = {
    ...cluster.store,
    async claim(claim) {
      const found = await cluster.store.claim(claim)
      if (found.instances.length > 0) claimed.resolve()
      await goOn.promise
      return found
    },
  }
  const work = operation('v1:work', { model: 'async', run: (_args, { attempt }) => attempt })
  const full = new Node(cluster, { operations: [work], limits: { runningCalls: 0 } })
  await full.call('v1:work')
  const { id } = await cluster.find('r1')
  const { clock, objects } = cluster
  const first = new Node({ clock, objects, store: slow }, { operations: [work] })
  first.engine.worker.wake()
  await claimed.promise

  const stopped = first.engine.worker.stop(0)
  goOn.resolve()
  await stopped
  new Node(cluster, { operations: [work] }).engine.worker.wake()

  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, outcome: { kind: 'result', value: 1 } })
})

test('a sync call with effects that does not end within the grace ends as unknown', async () => {
  const cluster = openCluster()
  const stuck = new Gate()
  const charge = operation('v1:charge', { sideEffecting: true, maxSyncMs: 60_000, run: () => stuck.pass() })
  const node = new Node(cluster, { operations: [charge] })
  const reply = node.call('v1:charge', {}, { idempotencyKey: 'k1' })
  await stuck.reached

  const stopping = node.engine.worker.stop(1_000)
  cluster.clock.advance(1_000 + STOP_GRACE_MS)
  await stopping

  expect(await reply).toMatchObject({ state: 'error', fault: { kind: 'outcome-unknown' } })
})

test('a call with effects that was accepted after the grace is handed over, and is not unknown', async () => {
  const cluster = openCluster()
  const [stuck, accepting] = [new Gate(), new Gate()]
  const work = operation('v1:work', { model: 'async', run: () => stuck.pass() })
  const charge = operation('v1:charge', { sideEffecting: true, run: (_args, { attempt }) => attempt })
  const slow: Store = {
    ...cluster.store,
    async accept(...given) {
      if (given[0].model === 'sync') await accepting.pass()
      return cluster.store.accept(...given)
    },
  }
  const { clock, objects } = cluster
  const first = new Node({ clock, objects, store: slow }, { operations: [work, charge] })
  await first.call('v1:work')
  await stuck.reached
  const reply = first.call('v1:charge', {}, { idempotencyKey: 'k1' })
  await accepting.reached

  const stopping = first.engine.worker.stop(1_000)
  clock.advance(1_000)
  accepting.open(undefined)
  await settled()
  clock.advance(STOP_GRACE_MS)
  await stopping
  expect(await reply).toMatchObject({ state: 'pending' })
  const { id } = await cluster.find('r2')
  new Node(cluster, { operations: [charge] }).engine.worker.wake()

  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, outcome: { kind: 'result', value: 1 } })
})

test('a stop asked of another node reaches the handler with the next renewal of its lease', async () => {
  const cluster = openCluster()
  const held = new Gate()
  const work = operation('v1:work', {
    model: 'async',
    run: (_args, { signal }) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        void held.pass()
      }),
  })
  const first = new Node(cluster, { operations: [work] })
  const second = new Node(cluster, { operations: [work] })
  await first.call('v1:work')
  await held.reached

  const canceled = second.followUp.cancel(ADA, 'r1')
  await settled()
  cluster.clock.advance(LEASE_MS / 3)
  await cluster.ended((await cluster.find('r1')).id)

  expect(await cluster.find('r1')).toMatchObject({ state: 'error', outcome: { fault: { kind: 'canceled' } } })
  await canceled
})
