/** Unrecorded calls leave nothing behind when they fail: no slot, no bytes. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '../../src/core/operation/define.ts'
import type { Observer } from '../../src/core/ports/observer.ts'
import { type Cluster, Gate, Node, OWNER, openCluster, STOP_GRACE_MS, settled } from './node.ts'

/** Whose bytes there are. */
async function ownersOf({ clock, objects }: Cluster): Promise<string[]> {
  clock.advance(1)
  return Array.fromAsync(objects.owners(0))
}

/** Stores bytes at each try, and fails at the first. */
function drawing(more: { attempts?: number; items?: Set<string> } = {}) {
  const { attempts = 2, items } = more
  return operation('v1:draw', {
    args: z.object({ item: z.string().refine((item) => items?.has(item) ?? true) }),
    retry: { attempts, backoffMs: 100 },
    maxSyncMs: 1_000,
    async run(_args, ctx) {
      const drawn = await ctx.object(`<svg id="${ctx.attempt}"/>`, { mimeType: 'image/svg+xml' })
      if (ctx.attempt === 1) ctx.fail('NO_INK', 'There is no ink.', { retryable: true })
      return attempts === 2 ? { text: 'in words' } : drawn
    },
  })
}

test('a call whose arguments are refused at the second try gives its slot back', async () => {
  const cluster = openCluster()
  const onSale = new Set(['tea'])
  const buy = operation('v1:buy', {
    args: z.object({ item: z.string().refine((item) => onSale.has(item)) }),
    concurrency: 1,
    retry: { attempts: 2, backoffMs: 100 },
    run: (_args, ctx) => ctx.fail('LATER', 'Later.', { retryable: true }),
  })
  const node = new Node(cluster, { operations: [buy] })

  const refused = expect(node.call('v1:buy', { item: 'tea' })).rejects.toMatchObject({ kind: 'invalid-input' })
  await settled()
  expect(node.limits.running).toBe(1)
  onSale.clear()
  cluster.clock.advance(100)
  await refused

  expect([
    node.limits.running,
    node.limits.hasSlot(node.engine.registry.resolve('v1:buy', 0), { tenant: 'main', owner: OWNER }),
  ]).toEqual([0, true])
})

test('a call that outlasts its wait and cannot be written down holds its slot until its handler is done, no longer', async () => {
  const cluster = openCluster()
  const deaf = new Gate()
  const work = operation('v1:work', { concurrency: 1, maxSyncMs: 10, run: () => deaf.pass() })
  const node = new Node(cluster, { operations: [work] })
  cluster.store.accept = async () => {
    throw new Error('the disk is full')
  }

  const refused = expect(node.call('v1:work')).rejects.toThrow('the disk is full')
  await deaf.reached
  cluster.clock.advance(10)
  await refused
  cluster.clock.advance(STOP_GRACE_MS)
  await settled()
  const meanwhile = node.limits.running
  deaf.open(null)
  await settled()

  expect([meanwhile, node.limits.running]).toEqual([1, 0])
})

test('a call that stores bytes and then fails leaves none of them', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [drawing({ attempts: 1 })] })

  const reply = await node.call('v1:draw', { item: 'tea' })

  expect(reply).toMatchObject({ state: 'error', fault: { code: 'NO_INK' } })
  expect(await ownersOf(cluster)).toEqual([])
})

test('bytes of a try that failed go when the next one ends without any, or cannot begin', async () => {
  const cluster = openCluster()
  const items = new Set(['tea', 'cake'])
  const node = new Node(cluster, { operations: [drawing({ items })] })

  const [drunk, eaten] = [node.call('v1:draw', { item: 'tea' }), node.call('v1:draw', { item: 'cake' })]
  const refused = expect(eaten).rejects.toMatchObject({ kind: 'invalid-input' })
  await settled()
  items.delete('cake')
  cluster.clock.advance(100)

  expect(await drunk).toMatchObject({ state: 'complete', result: { text: 'in words' }, usage: { attempt: 2 } })
  await refused
  expect(await ownersOf(cluster)).toEqual([])
})

test('a result in bytes says which try it is from; if it cannot be written down, its bytes go', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [drawing({ attempts: 3 })] })
  const draw = async () => {
    const drawn = node.call('v1:draw', { item: 'tea' })
    await settled()
    cluster.clock.advance(100)
    return drawn
  }

  expect(await draw()).toMatchObject({ location: { kind: 'object' }, usage: { attempt: 2, durationMs: 100 } })
  const kept = await ownersOf(cluster)
  const trail = await cluster.store.audit.list({ tenant: 'main', limit: 10 })
  cluster.store.accept = async () => {
    throw new Error('the disk is full')
  }
  await expect(draw()).rejects.toThrow('the disk is full')

  expect(kept).toHaveLength(1)
  expect(trail).toMatchObject([{ id: kept[0], attempts: 2, outcome: 'complete' }])
  expect(await ownersOf(cluster)).toEqual(kept)
})

test('the bytes of a call that cannot be recorded are removed with it', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [drawing()] })
  cluster.store.accept = async () => {
    throw new Error('the disk is full')
  }

  const refused = expect(node.call('v1:draw', { item: 'tea' }, { waitMs: 10 })).rejects.toThrow('the disk is full')
  await refused

  expect(await ownersOf(cluster)).toEqual([])
})

const DEPARTURES: [when: string, leavesInTry: boolean][] = [
  ['during a short try', true],
  ['between two tries', false],
]

test.each(DEPARTURES)('a client that leaves %s is noticed: there is no second one', async (_when, leavesInTry) => {
  const cluster = openCluster()
  const client = new AbortController()
  let tries = 0
  const work = operation('v1:work', {
    retry: { attempts: 3, backoffMs: 100 },
    run(_args, ctx) {
      tries++
      if (leavesInTry) client.abort()
      ctx.fail('LATER', 'Later.', { retryable: true })
    },
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = node.call('v1:work', {}, {}, { client: client })
  await settled()
  client.abort()
  await settled()
  cluster.clock.advance(1_000)

  expect(await reply).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect([tries, node.limits.running]).toEqual([1, 0])
})

test('a try that took too long is followed by another, as with recorded calls', async () => {
  const cluster = openCluster()
  const work = operation('v1:work', {
    timeoutMs: 50,
    retry: { attempts: 2, backoffMs: 100 },
    maxSyncMs: 60_000,
    run: (_args, ctx) => (ctx.attempt === 2 ? 'done' : new Promise((_, reject) => (ctx.signal.onabort = reject))),
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = node.call('v1:work')
  for (const ms of [25, 25, 100]) {
    await settled()
    cluster.clock.advance(ms)
  }

  expect(await reply).toMatchObject({ state: 'complete', result: 'done', usage: { attempt: 2, durationMs: 150 } })
})

const fail = (): never => {
  throw new Error('out of memory')
}
const OBSERVERS: [when: string, observer: Observer][] = [
  ['an attempt starts', { attemptStarted: fail, callEnded: () => {} }],
  ['a handler is called', { attemptStarted: () => ({ within: fail, ended: () => {} }), callEnded: () => {} }],
  ['an attempt ends', { attemptStarted: () => ({ within: (run) => run(), ended: fail }), callEnded: () => {} }],
  ['a call ends', { attemptStarted: () => ({ within: (run) => run(), ended: () => {} }), callEnded: fail }],
  ['an execution is told of', { executed: fail, executedUnrecorded: fail }],
]

test.each(OBSERVERS)('an observer that fails when %s changes nothing for the call', async (_when, observer) => {
  const cluster = openCluster()
  let runs = 0
  const count = () => ++runs
  const operations = [operation('v1:count', { run: count }), operation('v1:record', { ttlSeconds: 60, run: count })]
  const node = new Node(cluster, { operations, observer })

  expect(await node.call('v1:count')).toMatchObject({ state: 'complete', result: 1 })
  expect(await node.call('v1:record')).toMatchObject({ state: 'complete', result: 2 })

  expect([node.limits.running, node.limits.open, runs]).toEqual([0, 0, 2])
  expect(node.log).toMatchObject([{ level: 'error' }, { level: 'error' }])
})
