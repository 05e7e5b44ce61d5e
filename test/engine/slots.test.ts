/** The order of the queue, the limits on running work, and calls that wait for calls. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mayFollow, type State } from '../../src/core/call/state.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { OperationDefinition } from '../../src/core/operation/operation.ts'
import { jsonSchema } from '../../src/core/operation/schema.ts'
import { verifies } from '../requirements.ts'
import { Cluster, Gate, Node, openCluster, settled } from './node.ts'

test('calls that must wait are started in the order they came', async () => {
  const cluster = openCluster()
  const gate = new Gate()
  const order: unknown[] = []
  const work = operation('v1:work', {
    model: 'async',
    async run({ number }) {
      order.push(number)
      await gate.pass()
    },
  })
  const node = new Node(cluster, { operations: [work], limits: { runningCalls: 1 } })

  for (let number = 1; number <= 6; number++) {
    await node.call('v1:work', { number })
    cluster.clock.advance(1)
  }
  expect([order, node.limits.running, node.limits.queued]).toEqual([[1], 1, 5])
  gate.open(null)
  for (let number = 1; number <= 6; number++) await cluster.ended((await cluster.find(`r${number}`)).id)

  expect(order).toEqual([1, 2, 3, 4, 5, 6])
  await settled()
  expect([node.limits.running, node.limits.queued, node.limits.open]).toEqual([0, 0, 0])
})

test('an operation that runs one at a time runs the next as soon as one ends, each as its first attempt', async () => {
  const cluster = openCluster()
  const attempts: number[] = []
  const work = operation('v1:work', {
    model: 'async',
    concurrency: 1,
    run(_args, { attempt }) {
      attempts.push(attempt)
    },
  })
  const node = new Node(cluster, { operations: [work] })

  await Promise.all([1, 2, 3, 4, 5].map(() => node.call('v1:work')))
  for (const number of [1, 2, 3, 4, 5]) await cluster.ended((await cluster.find(`r${number}`)).id)

  expect(attempts).toEqual([1, 1, 1, 1, 1])
})

test('a retry that falls due while its operation is busy runs as soon as it is not', async () => {
  const cluster = openCluster()
  const gate = new Gate()
  const work = operation('v1:work', {
    model: 'async',
    concurrency: 1,
    retry: { attempts: 2, backoffMs: 100 },
    async run({ fails }, ctx) {
      if (!fails) await gate.pass()
      else if (ctx.attempt === 1) ctx.fail('BUSY', 'Not now.', { retryable: true })
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work', { fails: true })
  const { id } = await cluster.find('r1')
  await cluster.until(id, ({ failures }) => failures === 1)
  await node.call('v1:work', { fails: false })
  await gate.reached

  cluster.clock.advance(100)
  await settled()
  expect((await cluster.find('r1')).attempt).toBe(1)
  gate.open(null)

  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', attempt: 2 })
})

test('a call that waited for a sync call starts when that one ends', async () => {
  const cluster = openCluster()
  const gate = new Gate()
  const quick = operation('v1:quick', { run: () => gate.pass() })
  const work = operation('v1:work', { model: 'async', run: () => null })
  const node = new Node(cluster, { operations: [quick, work], limits: { runningCalls: 1 } })
  const direct = node.call('v1:quick')
  await gate.reached
  await node.call('v1:work', {}, { requestId: 'waits' })
  await settled()
  expect((await cluster.find('waits')).state).toBe('accepted')

  gate.open(7)

  expect(await direct).toMatchObject({ state: 'complete', result: 7 })
  expect(await cluster.ended((await cluster.find('waits')).id)).toMatchObject({ state: 'complete' })
})

test('handlers that call operations end even when every slot is taken by handlers that wait', async () => {
  const cluster = openCluster()
  const leaf = operation('v1:leaf', { result: jsonSchema<number>({}), model: 'async', concurrency: 1, run: () => 1 })
  const parent = operation('v1:parent', {
    model: 'async',
    concurrency: 2,
    run: async (_args, ctx) => (await ctx.call(leaf, {})) + (await ctx.call<number>('v1:leaf', {})),
  })
  const node = new Node(cluster, { operations: [leaf, parent], limits: { runningCalls: 2 } })

  await Promise.all([1, 2, 3, 4, 5].map(() => node.call('v1:parent')))
  const ended = []
  for (const number of [1, 2, 3, 4, 5]) ended.push(await cluster.ended((await cluster.find(`r${number}`)).id))

  for (const instance of ended) expect(instance).toMatchObject({ outcome: { kind: 'result', value: 2 } })
  await settled()
  expect([node.limits.running, node.limits.queued, node.limits.open]).toEqual([0, 0, 0])
})

test('operations that call each other in a circle are stopped, and every call in the circle ends', async () => {
  const cluster = openCluster()
  let runs = 0
  const circle = (name: string, next: string) =>
    operation(name, {
      model: 'async',
      run: (_args, ctx) => {
        runs++
        return ctx.call(next, {})
      },
    })
  const operations = [circle('v1:ping', 'v1:pong'), circle('v1:pong', 'v1:ping')]
  const node = new Node(cluster, { operations, limits: { runningCalls: 1 } })

  await node.call('v1:ping')

  const { outcome } = await cluster.ended((await cluster.find('r1')).id)
  expect(outcome).toMatchObject({ kind: 'fault', fault: { code: 'CALL_TOO_DEEP' } })
  expect(runs).toBe(17)
  await settled()
  expect((await cluster.store.openCounts()).byOwner).toEqual([])
})

test('a parent that is run again joins the child its first attempt started', async () => {
  const cluster = openCluster()
  const keys: string[] = []
  const child = operation('v1:child', { model: 'async', run: (_args, { key }) => keys.push(key) })
  const parent = operation('v1:parent', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 10 },
    async run(_args, ctx) {
      const result = await ctx.call(child, {})
      if (ctx.attempt === 1) ctx.fail('AGAIN', 'Once more.', { retryable: true })
      return result
    },
  })
  const node = new Node(cluster, { operations: [child, parent] })
  await node.call('v1:parent', {}, { sessionId: 's1' })
  const { id } = await cluster.find('r1')

  await cluster.until(id, ({ failures }) => failures === 1)
  cluster.clock.advance(10)

  expect(await cluster.ended(id)).toMatchObject({ attempt: 2, outcome: { kind: 'result', value: 1 } })
  expect(keys).toHaveLength(1)
  expect(await cluster.store.get(keys[0] as string)).toMatchObject({
    parentId: 'r1',
    sessionId: 's1',
    lineage: ['v1:parent@1.0.0'],
  })
})

/** A mix of calls whose handlers end, fail, fail once or are canceled, in any order of release. */
const mixes = fc.record({
  runningCalls: fc.integer({ min: 1, max: 4 }),
  concurrency: fc.integer({ min: 1, max: 3 }),
  calls: fc.array(
    fc.record({
      bounded: fc.boolean(),
      end: fc.constantFrom('result', 'failure', 'retry', 'cancel'),
      go: fc.nat({ max: 30 }),
    }),
    { minLength: 1, maxLength: 15 },
  ),
})

test('in every mix of calls, no limit is exceeded, and each call has one instance, only moves forward and ends once', async () => {
  verifies('opencall:289', 'opencall:291', 'opencall:292')
  await fc.assert(
    fc.asyncProperty(mixes, async ({ runningCalls, concurrency, calls }) => {
      await using cluster = new Cluster()
      const running = { bounded: 0, free: 0 }
      const highest = { bounded: 0, all: 0 }
      const waiting: { go: number; pass: () => void }[] = []
      const define = (kind: 'bounded' | 'free'): OperationDefinition =>
        operation(`v1:${kind}`, {
          model: 'async',
          retry: { attempts: 2, backoffMs: 5 },
          ...(kind === 'bounded' && { concurrency }),
          async run({ end, go }, ctx) {
            running[kind]++
            highest.bounded = Math.max(highest.bounded, running.bounded)
            highest.all = Math.max(highest.all, running.bounded + running.free)
            await new Promise<void>((pass) => waiting.push({ go: go as number, pass }))
            running[kind]--
            if (end === 'failure') ctx.fail('NO', 'No.')
            if (end === 'retry' && ctx.attempt === 1) ctx.fail('LATER', 'Later.', { retryable: true })
            if (end === 'cancel') throw ctx.signal.reason ?? new Error('not canceled')
            return null
          },
        })
      const node = new Node(cluster, { operations: [define('bounded'), define('free')], limits: { runningCalls } })
      const history = new Map<string, State[]>()

      const ids = await Promise.all(
        calls.map(async ({ bounded, ...args }, index) => {
          const requestId = `c${index}`
          await node.call(bounded ? 'v1:bounded' : 'v1:free', args, { requestId })
          const { id, state } = await cluster.find(requestId)
          const states = [state]
          history.set(id, states)
          cluster.store.watch(id, (instance) => states.push(instance.state))
          return id
        }),
      )
      const caller = { tenant: 'main', issuer: 'test', subject: 'ada', scopes: [] }
      const canceling = calls.flatMap(({ end }, index) =>
        end === 'cancel' ? [node.followUp.cancel(caller, `c${index}`)] : [],
      )
      let ended = false
      const all = Promise.all([...ids.map((id) => cluster.ended(id)), ...canceling]).then(() => {
        ended = true
      })
      while (!ended) {
        await settled()
        waiting.sort((a, b) => a.go - b.go)
        const next = waiting.shift()
        if (next) next.pass()
        else cluster.clock.advance(5)
      }
      await all
      // A canceled call has ended; its handler has its slot until it is let go.
      for (const { pass } of waiting) pass()
      await settled()

      expect(highest.bounded).toBeLessThanOrEqual(concurrency)
      expect(highest.all).toBeLessThanOrEqual(runningCalls)
      expect(new Set(ids).size).toBe(calls.length)
      for (const states of history.values()) {
        states.forEach((state, at) => {
          const before = states[at - 1]
          if (before !== undefined && before !== state) expect(mayFollow(before, state)).toBe(true)
        })
        expect(states.filter((state) => state === 'complete' || state === 'error')).toHaveLength(1)
      }
      expect([node.limits.running, node.limits.queued, node.limits.open]).toEqual([0, 0, 0])
    }),
    { numRuns: 25 },
  )
}, 60_000)
