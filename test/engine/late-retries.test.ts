/** A retry waits for a handler that continues after its attempt has ended, for as long as the grace lasts. */
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import { operation } from '../../src/core/operation/define.ts'
import { createDeaf } from './deaf.ts'
import { ADA, Node, openCluster, STOP_GRACE_MS, settled } from './node.ts'

test('a retry waits for the handler of the attempt before, and begins when that one returns', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({ model: 'async', timeoutMs: 100, retry: { attempts: 2, backoffMs: 10 } })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  const { id } = await cluster.find('r1')
  await gates[0].reached
  cluster.clock.advance(100)
  const failed = await cluster.until(id, ({ failures }) => failures === 1)
  await settled()

  cluster.clock.advance(STOP_GRACE_MS - 1_000)
  await settled()
  expect(runs()).toBe(1)
  gates[0].open('too late')
  await gates[1].reached
  gates[1].open('second')

  expect(failed).toMatchObject({ state: 'pending', attempt: 1, settled: 1 })
  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, outcome: { value: 'second' } })
})

test('a retry waits no longer than the grace, also if another node has to make it', async () => {
  const cluster = openCluster()
  const rules = { model: 'async' as const, timeoutMs: 100, retry: { attempts: 2, backoffMs: 10 } }
  const { deaf, gates } = createDeaf(rules)
  const first = new Node(cluster, { operations: [deaf] })
  const second = new Node(cluster, { operations: [operation('v1:deaf', { ...rules, run: () => 'second' })] })
  await first.call('v1:deaf')
  const { id } = await cluster.find('r1')
  await gates[0].reached
  cluster.clock.advance(100)
  await cluster.until(id, ({ failures }) => failures === 1)
  await settled()

  first.kill()
  second.engine.worker.wake()
  await settled()
  cluster.clock.advance(STOP_GRACE_MS - 1)
  await settled()
  expect((await cluster.find('r1')).attempt).toBe(1)
  cluster.clock.advance(1)

  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, outcome: { value: 'second' } })
})

test('a retry whose back-off is longer than the grace is neither held up nor pulled forward', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({
    model: 'async',
    timeoutMs: 100,
    retry: { attempts: 2, backoffMs: STOP_GRACE_MS * 2 },
  })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  const { id } = await cluster.find('r1')
  await gates[0].reached
  cluster.clock.advance(100)
  await cluster.until(id, ({ failures }) => failures === 1)
  gates[0].open('too late')
  await settled()

  cluster.clock.advance(STOP_GRACE_MS * 2 - 1)
  await settled()
  expect(runs()).toBe(1)
  cluster.clock.advance(1)
  await gates[1].reached
  gates[1].open('second')

  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, outcome: { value: 'second' } })
})

test('a call that is held up can be canceled at once, and its handler’s return does not bring it back', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({ model: 'async', timeoutMs: 100, retry: { attempts: 2, backoffMs: 10 } })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  const { id } = await cluster.find('r1')
  await gates[0].reached
  cluster.clock.advance(100)
  await cluster.until(id, ({ failures }) => failures === 1)

  const reply = await node.followUp.cancel(ADA, 'r1')
  gates[0].open('too late')
  await settled()
  cluster.clock.advance(STOP_GRACE_MS)
  await settled()

  expect(reply).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect(runs()).toBe(1)
  expect([node.limits.running, node.limits.open]).toEqual([0, 0])
})

test('a call whose deadline comes before the grace is over ends at the deadline', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({
    model: 'async',
    timeoutMs: 100,
    deadlineMs: 1_000,
    retry: { attempts: 2, backoffMs: 10 },
  })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  const { id } = await cluster.find('r1')
  await gates[0].reached
  cluster.clock.advance(100)
  await cluster.until(id, ({ failures }) => failures === 1)
  await settled()
  cluster.clock.advance(900)

  expect(await cluster.ended(id)).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout' } } })
  expect(runs()).toBe(1)
})

test('the retry of an unrecorded call waits while its caller does, and has a slot of its own after the grace', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({
    maxSyncMs: 60_000,
    timeoutMs: 100,
    retry: { attempts: 3, backoffMs: 10 },
  })
  const node = new Node(cluster, { operations: [deaf] })
  const reply = node.call('v1:deaf')
  await gates[0].reached
  for (const step of [25, 75, 10]) {
    cluster.clock.advance(step)
    await settled()
  }
  expect(runs()).toBe(1)

  cluster.clock.advance(STOP_GRACE_MS - 10)
  await gates[1].reached
  const besides = node.limits.running
  for (const step of [25, 75, 20]) {
    cluster.clock.advance(step)
    await settled()
  }
  expect(runs()).toBe(2)
  gates[1].open('late, too')
  await gates[2].reached
  gates[2].open('third')

  expect(await reply).toMatchObject({ state: 'complete', result: 'third' })
  expect(besides).toBe(2)
  expect(node.limits.running).toBe(1)
  gates[0].open('very late')
  await settled()
  expect(node.limits.running).toBe(0)
})

test('an unrecorded call that is held up for longer than its caller waits goes on as a recorded one', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({ maxSyncMs: 1_000, timeoutMs: 100, retry: { attempts: 2, backoffMs: 10 } })
  const node = new Node(cluster, { operations: [deaf] })
  const replying = node.call('v1:deaf')
  await gates[0].reached
  for (const step of [25, 75, 10, 890]) {
    cluster.clock.advance(step)
    await settled()
  }
  const reply = await replying
  await settled()
  const before = runs()
  gates[0].open('too late')
  await gates[1].reached
  gates[1].open('second')

  expect([reply.state, before]).toEqual(['pending', 1])
  expect(await cluster.ended((await cluster.find('r1')).id)).toMatchObject({ attempt: 2, outcome: { value: 'second' } })
  await settled()
  expect([node.limits.running, node.limits.queued, node.limits.open]).toEqual([0, 0, 0])
})

test('a failed attempt that is tried again is in the log', async () => {
  const cluster = openCluster()
  const rules = { retry: { attempts: 2, backoffMs: 100 } }
  const run = (_args: unknown, { attempt }: { attempt: number }) => {
    if (attempt === 1) throw new Fault('upstream', 'The tool is down.', { code: 'DOWN' })
    return 'done'
  }
  const node = new Node(cluster, {
    operations: [
      operation('v1:recorded', { ...rules, model: 'async', run }),
      operation('v1:direct', { ...rules, run }),
    ],
  })

  await node.call('v1:recorded')
  const direct = node.call('v1:direct')
  await settled()
  cluster.clock.advance(100)
  await Promise.all([direct, cluster.ended((await cluster.find('r1')).id)])

  const failure = { attempt: 1, kind: 'upstream', code: 'DOWN', message: 'The tool is down.', retryInMs: 100 }
  const line = (operation: string, requestId: string) => ({
    level: 'warn',
    message: 'an attempt failed; the call will be tried again',
    fields: { operation, requestId, ...failure },
  })
  expect(node.log).toHaveLength(2)
  expect(node.log).toContainEqual(line('v1:recorded@1.0.0', 'r1'))
  expect(node.log).toContainEqual(line('v1:direct@1.0.0', 'r2'))
})
