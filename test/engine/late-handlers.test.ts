/** A handler that continues after its attempt has ended changes nothing, and keeps its slot until it returns. */
import { expect, test } from 'vitest'
import type { HandlerContext } from '../../src/core/call/context.ts'
import { Fault } from '../../src/core/fault.ts'
import { completeOperation } from '../../src/core/operation/defaults.ts'
import { operation } from '../../src/core/operation/define.ts'
import { Attempt } from '../../src/engine/attempt/attempt.ts'
import type { AttemptParts, Job } from '../../src/engine/attempt/job.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryObjects } from '../../src/testing/fakes/memory-objects.ts'
import { createRunEnvironment } from '../../src/testing/run-operation/run-environment.ts'
import { noFetcher } from '../../src/testing/run-operation/run-media.ts'
import { createDeaf } from './deaf.ts'
import { ADA, Gate, LEASE_MS, Node, OWNER, openCluster, STOP_GRACE_MS, settled } from './node.ts'

test('a call ends as a timeout at its limit, and a result that comes later changes nothing', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async', timeoutMs: 100 })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached

  cluster.clock.advance(99)
  await settled()
  expect((await cluster.find('r1')).state).toBe('pending')
  cluster.clock.advance(1)
  await settled()
  const ended = await cluster.find('r1')
  cluster.clock.advance(2_900)
  gates[0].open('too late')
  await settled()

  expect(ended).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout' } } })
  expect((ended.endedAt ?? 0) - ended.createdAt).toBe(100)
  expect(await cluster.find('r1')).toEqual(ended)
})

test('a handler that reacts to its signal does not replace the timeout', async () => {
  const cluster = openCluster()
  const stubborn = operation('v1:stubborn', {
    timeoutMs: 100,
    run: (_args, { signal }) =>
      new Promise<unknown>((resolve, reject) => {
        signal.addEventListener('abort', () => {
          if (signal.reason.kind === 'timeout') reject(new Fault('upstream', 'Something else.'))
          else resolve('done after all')
        })
      }),
  })
  const node = new Node(cluster, { operations: [stubborn] })
  const leaving = new AbortController()

  const timedOut = node.call('v1:stubborn')
  await settled()
  cluster.clock.advance(100)
  const left = node.call('v1:stubborn', {}, {}, { client: leaving })
  await settled()
  cluster.clock.advance(25)
  await settled()
  leaving.abort()

  expect(await timedOut).toMatchObject({ state: 'error', fault: { kind: 'timeout' } })
  expect(await left).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
})

test('a cancel gets its reply at once, even if the handler continues', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async' })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached

  const replying = node.followUp.cancel(ADA, 'r1')
  await settled()
  // No time has passed.
  gates[0].open('too late')

  expect(await replying).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect(await node.followUp.poll(ADA, 'r1')).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
})

test.each([
  ['recorded', { model: 'async' as const }],
  ['unrecorded', {}],
])('the slot of a %s call is taken until its handler returns', async (_how, rules) => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ ...rules, timeoutMs: 100, concurrency: 1 })
  const node = new Node(cluster, { operations: [deaf] })
  const first = node.call('v1:deaf')
  await gates[0].reached
  cluster.clock.advance(100)
  await settled()
  const { state } = await node.followUp.poll(ADA, 'r1').catch(() => first)

  const deafOperation = node.engine.registry.resolve('v1:deaf', 0)
  const whileItRuns = [node.limits.running, node.limits.hasSlot(deafOperation, { tenant: 'main', owner: OWNER })]
  gates[0].open('too late')
  await settled()

  expect(state).toBe('error')
  expect(whileItRuns).toEqual([1, false])
  expect(node.limits.running).toBe(0)
})

test('a call that waits for the slot of a late handler starts when that one returns', async () => {
  const cluster = openCluster()
  const { deaf, gates, runs } = createDeaf({ model: 'async', timeoutMs: 100, concurrency: 1 })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached
  cluster.clock.advance(100)
  await settled()

  await node.call('v1:deaf')
  cluster.clock.advance(STOP_GRACE_MS)
  await settled()
  expect(runs()).toBe(1)
  gates[0].open('too late')
  await gates[1].reached
  gates[1].open('second')

  expect(await cluster.ended((await cluster.find('r2')).id)).toMatchObject({ outcome: { value: 'second' } })
})

test('the log has a line for a handler that still runs, and a line for its late result', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async', timeoutMs: 100 })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached

  cluster.clock.advance(100)
  await settled()
  cluster.clock.advance(2_900)
  gates[0].open('too late')
  await settled()

  const call = { operation: 'v1:deaf@1.0.0', requestId: 'r1', attempt: 1, outcome: 'timeout' }
  expect(node.log).toMatchObject([
    { level: 'warn', message: expect.stringContaining('still runs'), fields: call },
    { level: 'info', message: expect.stringContaining('dropped'), fields: { ...call, lateMs: 2_900 } },
  ])
})

test('a handler that heeds its signal is worth no line above debug', async () => {
  const cluster = openCluster()
  const work = operation('v1:work', {
    timeoutMs: 100,
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  })
  const node = new Node(cluster, { operations: [work] })

  const reply = node.call('v1:work')
  await settled()
  cluster.clock.advance(100)
  await reply
  cluster.clock.advance(1_000)

  expect(node.log.map(({ level }) => level)).toEqual(['debug'])
})

test('a late handler reports no progress, stores no bytes and starts no child', async () => {
  const cluster = openCluster()
  const gate = new Gate()
  const tried: unknown[] = []
  let children = 0
  const child = operation('v1:child', { sideEffecting: true, idempotencyRequired: false, run: () => ++children })
  const work = operation('v1:work', {
    model: 'async',
    timeoutMs: 100,
    retry: { attempts: 2, backoffMs: 60_000 },
    async run(_args, ctx) {
      ctx.progress(0.25)
      await gate.pass()
      ctx.progress(0.75)
      tried.push(await ctx.call(child, {}).catch((fault) => fault.kind))
      tried.push(await ctx.object('bytes', { mimeType: 'text/plain' }).catch((fault) => fault.kind))
    },
  })
  const node = new Node(cluster, { operations: [work, child] })
  await node.call('v1:work')
  await gate.reached
  await settled()
  cluster.clock.advance(100)
  await settled()
  gate.open(null)
  await settled()

  expect(tried).toEqual(['timeout', 'timeout'])
  expect(children).toBe(0)
  expect(await cluster.find('r1')).toMatchObject({ failures: 1, progress: { fraction: 0.25 } })
})

test('a shutdown does not wait for a handler whose call has ended', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async', timeoutMs: 100 })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached
  cluster.clock.advance(100)
  await settled()

  await node.engine.worker.stop(10_000)

  expect(await cluster.find('r1')).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout' } } })
})

test('a result that comes after a shutdown told its handler to stop counts, within the grace', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async' })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached

  const stopping = node.engine.worker.stop(1_000)
  cluster.clock.advance(1_000 + STOP_GRACE_MS - 1)
  gates[0].open('just in time')
  await stopping

  expect(await cluster.find('r1')).toMatchObject({ state: 'complete', outcome: { value: 'just in time' } })
})

test('a call that is out of time while a shutdown winds it down ends as a timeout', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async', timeoutMs: 2_000 })
  const node = new Node(cluster, { operations: [deaf] })
  await node.call('v1:deaf')
  await gates[0].reached

  const stopping = node.engine.worker.stop(1_000)
  cluster.clock.advance(2_000)
  await stopping

  expect(await cluster.find('r1')).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout' } } })
})

test('a call whose lease is lost leaves its slot to its handler', async () => {
  const cluster = openCluster()
  const { deaf, gates } = createDeaf({ model: 'async' })
  const first = new Node(cluster, { operations: [deaf] })
  const second = new Node(cluster, { operations: [operation('v1:deaf', { model: 'async', run: () => 'second' })] })
  await first.call('v1:deaf')
  await gates[0].reached
  first.freeze()
  cluster.clock.advance(LEASE_MS)
  second.engine.worker.wake()
  const ended = await cluster.ended((await cluster.find('r1')).id)
  first.thaw()
  await settled()
  const whileItRuns = first.limits.running
  gates[0].open('first')
  await settled()

  expect(whileItRuns).toBe(1)
  expect(first.limits.running).toBe(0)
  expect(await cluster.store.get(ended.id)).toEqual(ended)
})

/** One attempt without a server, at whose gate the test stands. */
function createAttempt(run: (ctx: HandlerContext) => unknown, more: Partial<AttemptParts> = {}) {
  const clock = createManualClock()
  const concealed = new Set<string>()
  const conceal = (value: string) => {
    concealed.add(value)
    return () => concealed.delete(value)
  }
  const definition = operation('v1:work', { timeoutMs: 100, requires: { secrets: ['pin'] }, run: () => null })
  const backend = { kind: 'handler', execute: (_args: unknown, ctx: HandlerContext) => run(ctx) }
  const job: Job = {
    id: 'i1',
    operation: completeOperation(definition, prepareSchemas(definition), backend),
    caller: ADA,
    requestId: 'r1',
    media: [],
    lineage: [],
    given: { tokens: new Map(), secrets: new Map([['pin', 'abcd-1234-efgh']]) },
  }
  const parts: AttemptParts = {
    env: { ...createRunEnvironment([], clock), conceal },
    objects: createMemoryObjects(),
    fetcher: noFetcher,
    callChild: () => Promise.reject(new Error('it calls none')),
    chunkBytes: 1_024,
    maxObjectBytes: 1_024,
    stopGraceMs: STOP_GRACE_MS,
    ...more,
  }
  return { attempt: new Attempt(job, 1, parts), clock, concealed }
}

test('a handler whose context comes after the end of its attempt is never called', async () => {
  const context = new Gate<object>()
  let calls = 0
  const { attempt, clock } = createAttempt(() => ++calls, { inject: () => context.pass() })

  attempt.start({})
  clock.advance(100)
  context.open({})
  await settled()

  expect(await attempt.done).toMatchObject({ kind: 'fault', fault: { kind: 'timeout' } })
  expect([calls, attempt.began, attempt.returned]).toEqual([0, false, true])
})

test('a secret stays concealed until the handler that has seen it returns', async () => {
  const gate = new Gate()
  const { attempt, clock, concealed } = createAttempt((ctx) => {
    ctx.secret('pin')
    return gate.pass()
  })

  attempt.start({})
  clock.advance(100)
  const afterTheEnd = [attempt.ended, concealed.size]
  gate.open(null)
  await settled()

  expect(afterTheEnd).toEqual([true, 1])
  expect(concealed.size).toBe(0)
})
