/** Maintenance: it ends expired calls, removes calls past their retention, and corrects the counts. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { createMemoryObjects } from '../../src/testing/fakes/memory-objects.ts'
import { bytes } from '../../src/testing/suites/objects/object-content.ts'
import { Gate, Node, OWNER, openCluster, STOP_GRACE_MS, settled } from './node.ts'

async function* once(text: string) {
  yield bytes(text)
}

const FILE = { mimeType: 'text/plain', maxBytes: 100 }
const HOUR_MS = 3_600_000

test('a call that outlives its retention times out, its handler is notified, and a late result is ignored', async () => {
  const cluster = openCluster()
  const deaf = new Gate()
  let signal: AbortSignal | undefined
  const work = operation('v1:work', {
    model: 'async',
    ttlSeconds: 60,
    run: (_args, ctx) => {
      signal = ctx.signal
      return deaf.pass()
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work', {}, { idempotencyKey: 'k1' })
  const { id } = await cluster.find('r1')
  await deaf.reached

  cluster.clock.advance(60_000)
  await node.maintenance.tidy()
  const ended = await cluster.store.get(id)
  cluster.clock.advance(STOP_GRACE_MS)
  deaf.open('late')
  await settled()

  expect(signal?.reason).toMatchObject({ code: 'EXPIRED' })
  expect(ended).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout', code: 'EXPIRED' } } })
  expect(await cluster.store.get(id)).toEqual(ended)
  expect(await cluster.store.find('main', OWNER, 'r1')).toBe(undefined)
  expect([node.limits.running, node.limits.open]).toEqual([0, 0])
})

test('a call that expires in the queue gives its key back, for its handler never started', async () => {
  const cluster = openCluster()
  const held = new Gate()
  const work = operation('v1:work', { model: 'async', ttlSeconds: 60, run: () => held.pass() })
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })
  await node.call('v1:work', {}, { requestId: 'running' })
  await node.call('v1:work', {}, { requestId: 'queued', idempotencyKey: 'k1' })
  const { id } = await cluster.find('queued')

  cluster.clock.advance(60_000)
  await node.maintenance.tidy()
  const again = await node.call('v1:work', {}, { requestId: 'again', idempotencyKey: 'k1' })

  expect(await cluster.store.get(id)).toMatchObject({ state: 'error', outcome: { fault: { code: 'EXPIRED' } } })
  expect(again).toMatchObject({ requestId: 'again', state: 'accepted' })
  held.open(null)
})

test('an outcome past its retention goes, and its bytes with it', async () => {
  const cluster = openCluster()
  const draw = operation('v1:draw', {
    model: 'async',
    ttlSeconds: 60,
    run: (_args, ctx) => ctx.object('<svg/>', { mimeType: 'image/svg+xml' }),
  })
  const node = new Node(cluster, { operations: [draw] })
  await node.call('v1:draw')
  const { id, outcome } = await cluster.ended((await cluster.find('r1')).id)
  const location = outcome?.kind === 'location' && outcome.location.kind === 'object' ? outcome.location : undefined
  expect(await cluster.objects.info(location?.objectId ?? '')).toBeDefined()

  cluster.clock.advance(60_001)
  await node.maintenance.tidy()

  expect(await cluster.store.get(id)).toBe(undefined)
  expect(await cluster.objects.info(location?.objectId ?? '')).toBe(undefined)
})

test('an outcome says that there are objects if none of them is the result', async () => {
  const cluster = openCluster()
  const draw = operation('v1:draw', {
    model: 'async',
    run: async (_args, ctx) => {
      await ctx.object('<svg/>', { mimeType: 'image/svg+xml' })
      return 'drawn'
    },
  })
  const node = new Node(cluster, { operations: [draw] })

  await node.call('v1:draw')
  const { outcome } = await cluster.ended((await cluster.find('r1')).id)

  // In this order: stores look at the beginning of the text.
  expect(JSON.stringify(outcome)).toBe('{"kind":"result","objects":true,"value":"drawn"}')
})

test('a clock that is set forward makes no leftovers of bytes that were written since the last sweep', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [] })
  await node.maintenance.sweepLeftovers()
  await cluster.objects.put('fresh/upload', once('under way'), FILE)

  cluster.clock.set(2 * HOUR_MS)
  await node.maintenance.sweepLeftovers()
  const afterTheStep = await cluster.objects.info('fresh/upload')
  cluster.clock.advance(HOUR_MS + 1)
  await node.maintenance.sweepLeftovers()

  expect(afterTheStep).toBeDefined()
  expect(await cluster.objects.info('fresh/upload')).toBe(undefined)
})

test('bytes are judged by the clock of the object store, not by the clock of the store', async () => {
  let objectsNow = 0
  const objects = createMemoryObjects(() => objectsNow)
  const node = new Node(Object.assign(openCluster(), { objects }), { operations: [] })
  await objects.put('fresh/upload', once('under way'), FILE)

  await node.maintenance.sweepLeftovers()
  const whileFresh = await objects.info('fresh/upload')
  objectsNow += HOUR_MS + 1
  await node.maintenance.sweepLeftovers()

  expect(whileFresh).toBeDefined()
  expect(await objects.info('fresh/upload')).toBe(undefined)
})

test('bytes that no call owns are swept an hour after they were written, others are left alone', async () => {
  const cluster = openCluster()
  const work = operation('v1:work', { model: 'async', run: () => null })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work')
  const { id } = await cluster.find('r1')
  await cluster.objects.put(`${id}/result`, once('kept'), FILE)
  await cluster.objects.put('lost/upload', once('left behind'), FILE)
  cluster.clock.advance(HOUR_MS)
  await cluster.objects.put('fresh/upload', once('under way'), FILE)

  await node.maintenance.sweepLeftovers()
  expect(await cluster.objects.info('lost/upload')).toBeDefined()
  cluster.clock.advance(1)
  await node.maintenance.sweepLeftovers()

  expect(await cluster.objects.info('lost/upload')).toBe(undefined)
  expect(await cluster.objects.info('fresh/upload')).toBeDefined()
  expect(await cluster.objects.info(`${id}/result`)).toBeDefined()
})

test('leftovers are removed together, so that an object store can share the work', async () => {
  const cluster = openCluster()
  const { objects } = cluster
  const all = Promise.withResolvers<void>()
  const started: string[] = []
  const removeOwner = async (owner: string) => {
    if (started.push(owner) === 3) all.resolve()
    await all.promise
    await objects.removeOwner(owner)
  }
  const node = new Node(Object.assign(cluster, { objects: { ...objects, removeOwner } }), { operations: [] })
  for (const owner of ['one', 'two', 'three']) await objects.put(`${owner}/upload`, once('left behind'), FILE)
  cluster.clock.advance(HOUR_MS + 1)

  await node.maintenance.sweepLeftovers()

  expect(await Array.fromAsync(objects.owners(0))).toEqual([])
})

test('leftovers of a running server are swept without a restart', async () => {
  const cluster = openCluster()
  const unfinished: number[] = []
  const node = new Node(cluster, {
    operations: [operation('v1:work', { run: () => null })],
    sweepUnfinished: async (untouchedForMs) => unfinished.push(untouchedForMs),
  })
  await node.maintenance.start()
  await settled()
  await cluster.objects.put('lost/upload', once('left behind'), FILE)

  cluster.clock.advance(HOUR_MS)
  await settled()
  const early = await cluster.objects.info('lost/upload')
  cluster.clock.advance(HOUR_MS)
  await settled()

  expect(early).toBeDefined()
  expect(await cluster.objects.info('lost/upload')).toBe(undefined)
  expect(unfinished).toEqual([HOUR_MS, HOUR_MS, HOUR_MS])
  await node.maintenance.stop()
})

test('records past their expiry are removed, however many there are', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [operation('v1:work', { run: () => null })] })
  const { records } = cluster.store
  const expiresAt = cluster.clock.now() + 10
  await Promise.all(Array.from({ length: 450 }, (_, n) => records.put(`old/${n}`, '', expiresAt)))
  await records.put('kept', 'kept')
  cluster.clock.advance(10)

  await node.maintenance.tidy()

  expect([await records.purge(1), await records.get('kept')]).toEqual([0, 'kept'])
})

test('a node that starts counts the open calls that others left', async () => {
  const cluster = openCluster()
  const stuck = new Gate()
  const work = operation('v1:work', { model: 'async', run: () => stuck.pass() })
  const before = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })
  for (const requestId of ['a', 'b', 'c']) await before.call('v1:work', {}, { requestId })
  before.kill()
  await cluster.restart()

  const after = new Node(cluster, { operations: [work], limits: { openCallsPerCaller: 3, runningCalls: 1 } })
  await after.maintenance.start()

  expect([after.limits.open, after.limits.queued]).toEqual([3, 2])
  await expect(after.call('v1:work')).rejects.toMatchObject({ code: 'TOO_MANY_OPEN_CALLS' })
  await after.maintenance.stop()
})

test('the round repeats by itself, also after one that failed, until it is stopped', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [operation('v1:work', { run: () => null })] })
  const { overdue } = cluster.store
  let rounds = 0
  cluster.store.overdue = async (limit) => {
    if (++rounds === 1) throw new Error('the disk is busy')
    return overdue(limit)
  }
  await node.maintenance.start()

  // One that fails, one that finds nothing, and the next after twice the time.
  for (let round = 0; round < 4; round++) {
    cluster.clock.advance(5_000)
    await settled()
  }
  await node.maintenance.stop()
  cluster.clock.advance(50_000)
  await settled()

  expect(rounds).toBe(3)
  expect(node.log).toMatchObject([{ level: 'error', message: expect.stringContaining('tries again') }])
})
