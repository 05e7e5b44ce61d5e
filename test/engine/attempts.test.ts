/** One call with several attempts: retries, time limits, waits that time out, and progress. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { ADA, Gate, LEASE_MS, Node, openCluster, settled } from './node.ts'

test('a recorded call is tried again after each back-off, under one key, until it succeeds', async () => {
  const cluster = openCluster()
  const seen: { key: string; attempt: number; at: number }[] = []
  const work = operation('v1:work', {
    model: 'async',
    retry: { attempts: 3, backoffMs: 100 },
    run(_args, ctx) {
      seen.push({ key: ctx.key, attempt: ctx.attempt, at: cluster.clock.now() })
      if (ctx.attempt < 3) ctx.fail('LATER', 'Later.', { retryable: true })
      return 'done'
    },
  })
  const node = new Node(cluster, { operations: [work] })
  const startedAt = cluster.clock.now()
  await node.call('v1:work')
  const { id } = await cluster.find('r1')

  await cluster.until(id, ({ failures }) => failures === 1)
  await settled()
  cluster.clock.advance(99)
  await settled()
  expect(seen).toHaveLength(1)
  cluster.clock.advance(1)
  await cluster.until(id, ({ failures }) => failures === 2)
  await settled()
  cluster.clock.advance(200)

  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', attempt: 3, failures: 2 })
  expect(seen.map(({ key, attempt, at }) => [key, attempt, at - startedAt])).toEqual([
    [id, 1, 0],
    [id, 2, 100],
    [id, 3, 300],
  ])
})

test('the last attempt ends the call with its own failure, and a failure that is final ends it at once', async () => {
  const cluster = openCluster()
  let runs = 0
  const work = operation('v1:work', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 10 },
    run({ retryable }, ctx) {
      ctx.fail(`FAILED_${++runs}`, 'No.', { retryable: retryable === true })
    },
  })
  const node = new Node(cluster, { operations: [work] })

  await node.call('v1:work', { retryable: true })
  const { id } = await cluster.find('r1')
  await cluster.until(id, ({ failures }) => failures === 1)
  await settled()
  cluster.clock.advance(10)
  const tried = await cluster.ended(id)
  await node.call('v1:work', { retryable: false })
  const final = await cluster.ended((await cluster.find('r2')).id)

  expect(tried).toMatchObject({ attempt: 2, outcome: { fault: { code: 'FAILED_2' } } })
  expect(final).toMatchObject({ attempt: 1, outcome: { fault: { code: 'FAILED_3' } } })
})

test('a sync call without effects is tried again while its caller waits, and nothing is written', async () => {
  const cluster = openCluster()
  const work = operation('v1:work', {
    retry: { attempts: 3, backoffMs: 100 },
    run: (_args, ctx) => (ctx.attempt < 3 ? ctx.fail('LATER', 'Later.', { retryable: true }) : ctx.attempt),
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = node.call('v1:work')
  for (const backoff of [100, 200]) {
    await settled()
    cluster.clock.advance(backoff)
  }

  expect(await reply).toMatchObject({ state: 'complete', result: 3 })
  expect(await cluster.store.find(ADA.tenant, 'test|ada', 'r1')).toBe(undefined)
  expect(node.limits.running).toBe(0)
})

test('a sync call whose next attempt is after its wait is recorded and continues', async () => {
  const cluster = openCluster()
  const work = operation('v1:work', {
    maxSyncMs: 50,
    retry: { attempts: 2, backoffMs: 100 },
    run: (_args, ctx) => (ctx.attempt < 2 ? ctx.fail('LATER', 'Later.', { retryable: true }) : ctx.attempt),
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = await node.call('v1:work')
  const { id } = await cluster.find('r1')
  await settled()
  cluster.clock.advance(100)

  expect(reply).toMatchObject({ state: 'pending' })
  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, failures: 1, outcome: { value: 2 } })
  await settled()
  expect([node.limits.running, node.limits.queued, node.limits.open]).toEqual([0, 0, 0])
})

test('a sync call that takes longer than its wait continues in the background and runs once', async () => {
  const cluster = openCluster()
  const slow = new Gate<string>()
  let signal: AbortSignal | undefined
  const work = operation('v1:work', {
    maxSyncMs: 1_000,
    run: (_args, ctx) => {
      signal = ctx.signal
      return slow.pass()
    },
  })
  const node = new Node(cluster, { operations: [work] })

  const replying = node.call('v1:work', {}, { waitMs: 200 })
  await slow.reached
  for (const step of [25, 175]) {
    cluster.clock.advance(step)
    await settled()
  }
  const reply = await replying
  const { id } = await cluster.find('r1')
  expect(signal?.aborted).toBe(false)
  slow.open('late')

  expect(reply).toMatchObject({ state: 'pending', expiresAt: cluster.clock.now() + 600_000 })
  expect(await cluster.ended(id)).toMatchObject({ attempt: 1, outcome: { value: 'late' } })
  expect(await node.followUp.poll(ADA, 'r1')).toMatchObject({ state: 'complete', result: 'late' })
  expect(slow.runs).toBe(1)
})

test('a client that leaves stops an unrecorded call', async () => {
  const cluster = openCluster()
  const leaving = new AbortController()
  const started = new Gate()
  const work = operation('v1:work', {
    run: (_args, { signal }) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        void started.pass()
      }),
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = node.call('v1:work', {}, {}, { client: leaving })
  await started.reached
  cluster.clock.advance(25)
  await settled()
  leaving.abort()

  expect(await reply).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect(node.limits.running).toBe(0)
})

test('a call canceled before it started never starts, and its key can be used again', async () => {
  const cluster = openCluster()
  const held = new Gate()
  const work = operation('v1:work', { model: 'async', run: () => held.pass() })
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })
  await node.call('v1:work', {}, { requestId: 'running' })
  await node.call('v1:work', {}, { requestId: 'queued', idempotencyKey: 'k1' })

  const canceled = await node.followUp.cancel(ADA, 'queued')
  const again = await node.call('v1:work', {}, { requestId: 'again', idempotencyKey: 'k1' })
  held.open('done')
  await cluster.ended((await cluster.find('again')).id)

  expect(canceled).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect(again).toMatchObject({ state: 'accepted' })
  expect(held.runs).toBe(2)
})

test('a call that is claimed only to be stopped never starts, and its key can be used again', async () => {
  const cluster = openCluster()
  const held = new Gate()
  const work = operation('v1:work', { model: 'async', run: () => held.pass() })
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })
  await node.call('v1:work', {}, { requestId: 'running' })
  await node.call('v1:work', {}, { requestId: 'queued', idempotencyKey: 'k1' })
  const { id, tenant } = await cluster.find('queued')
  await cluster.store.requestStop(id)

  held.open('done')
  await cluster.ended(id)
  await node.call('v1:work', {}, { requestId: 'again', idempotencyKey: 'k1' })

  expect(await cluster.ended((await cluster.find('again')).id)).toMatchObject({ state: 'complete' })
  const trail = await cluster.store.audit.list({ tenant, limit: 9 })
  expect(trail.find((entry) => entry.id === id)).toMatchObject({ outcome: 'canceled', attempts: 0 })
})

test('progress is stored at once, then at most once in an interval, and always the latest', async () => {
  const cluster = openCluster()
  const held = new Gate()
  let tell: (fraction: number) => void = () => {}
  const work = operation('v1:work', {
    model: 'async',
    run: (_args, ctx) => {
      tell = (fraction) => ctx.progress(fraction)
      return held.pass()
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work')
  const { id } = await cluster.find('r1')
  await held.reached
  const stored: (number | undefined)[] = []
  cluster.store.watch(id, ({ progress }) => stored.push(progress?.fraction))

  for (let percent = 1; percent <= 50; percent++) tell(percent / 100)
  await settled()
  expect(stored).toEqual([0.01])
  cluster.clock.advance(100)
  await settled()
  expect(stored).toEqual([0.01, 0.5])
  cluster.clock.advance(1_000)
  await settled()
  tell(0.9)
  await settled()

  expect(stored).toEqual([0.01, 0.5, 0.9])
  held.open(null)
})

test('progress does not decrease within one try, even if the try starts again after a crash', async () => {
  const cluster = openCluster()
  const held = new Gate()
  const reported = [0.5, 0.25, 0.75]
  const work = operation('v1:work', {
    model: 'async',
    run: (_args, ctx) => {
      ctx.progress(reported.shift() ?? 0, `attempt ${ctx.attempt}`)
      return held.pass()
    },
  })
  const stored: unknown[] = []
  let node = new Node(cluster, { operations: [work] })
  await node.call('v1:work')
  const { id } = await cluster.find('r1')

  for (let life = 1; life <= 3; life++) {
    const { progress } = await cluster.until(id, (instance) => instance.progress?.message === `attempt ${life}`)
    stored.push(progress)
    node.kill()
    cluster.clock.advance(LEASE_MS)
    node = new Node(cluster, { operations: [work] })
    if (life < 3) node.engine.worker.wake()
  }

  expect(stored).toEqual([
    { fraction: 0.5, message: 'attempt 1', attempt: 1 },
    { fraction: 0.5, message: 'attempt 2', attempt: 1 },
    { fraction: 0.75, message: 'attempt 3', attempt: 1 },
  ])
})

test('a watcher gets the last progress before the end, even if it reads only after the end', async () => {
  const cluster = openCluster()
  const held = new Gate()
  const work = operation('v1:work', {
    model: 'async',
    async run(_args, ctx) {
      await held.pass()
      for (const step of [1, 2, 3]) ctx.progress(step / 3, `step ${step}`)
      return 'done'
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work')
  await held.reached
  const replies = node.followUp.watch(ADA, 'r1', new AbortController().signal)[Symbol.asyncIterator]()
  const first = await replies.next()

  held.open(null)
  await cluster.ended((await cluster.find('r1')).id)
  const rest = [await replies.next(), await replies.next(), await replies.next()]

  expect([first, ...rest]).toMatchObject([
    { value: { state: 'pending' } },
    { value: { state: 'pending', progress: { fraction: 1, message: 'step 3' } } },
    { value: { state: 'complete', result: 'done' } },
    { done: true },
  ])
})
