/** The wall clock is set by an hour while a handler runs: the call keeps exactly its time limit. */
import { describe, expect, test } from 'vitest'
import type { BackendContext } from '../../src/core/call/context.ts'
import { Fault } from '../../src/core/fault.ts'
import { operation } from '../../src/core/operation/define.ts'
import { Deferred } from '../../src/core/operation/returned.ts'
import type { Backend } from '../../src/core/ports/backend.ts'
import { type Cluster, Gate, Node, openCluster, STOP_GRACE_MS, settled } from './node.ts'

const HOUR_MS = 3_600_000
const DEADLINE_MS = 60_000

/** In steps, so that what falls due on the way is done on the way. */
async function pass(cluster: Cluster, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    cluster.clock.advance(Math.min(1_000, left))
    await settled()
  }
}

/** From 1 s after the call began, when the clock was set. */
async function expectTimeoutAtDeadline(cluster: Cluster, id: string): Promise<void> {
  const { extras } = (await cluster.store.get(id)) ?? {}
  expect((extras?.deadlineAt ?? 0) - cluster.clock.now()).toBe(DEADLINE_MS - 1_000)
  await pass(cluster, DEADLINE_MS - 1_001)
  expect((await cluster.store.get(id))?.state).toBe('pending')
  await pass(cluster, 1)
  expect(await cluster.store.get(id)).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout' } } })
}

describe.each([
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
])('with the clock set %s an hour', (_where, setMs) => {
  test('a call that is left waiting for its answer ends at its deadline', async () => {
    const cluster = openCluster()
    const gate = new Gate()
    const elsewhere: Backend = {
      kind: 'elsewhere',
      async execute(_args: unknown, context: BackendContext) {
        await gate.pass()
        await context.expectAnswer({ job: 1 })
        return new Deferred({ job: 1 }, 5_000)
      },
      resume: (waiting) => new Deferred(waiting, 5_000),
    }
    const render = operation('v1:render', {
      model: 'async',
      deadlineMs: DEADLINE_MS,
      backend: { kind: 'elsewhere' },
    })
    const node = new Node(cluster, { operations: [render], backends: { elsewhere } })
    await node.call('v1:render')
    await gate.reached
    const { id } = await cluster.find('r1')

    cluster.clock.advance(1_000)
    cluster.clock.set(setMs)
    gate.open(null)
    await settled()

    await expectTimeoutAtDeadline(cluster, id)
  })

  test('a call that asks its caller ends at its deadline', async () => {
    const cluster = openCluster()
    const gate = new Gate()
    const asks = operation('v1:asks', {
      model: 'async',
      deadlineMs: DEADLINE_MS,
      async run(_args, ctx) {
        await gate.pass()
        return ctx.ask({ sure: { kind: 'form', message: 'Sure?', schema: { type: 'object' } } })
      },
    })
    const node = new Node(cluster, { operations: [asks] })
    await node.call('v1:asks', {}, { asking: { kinds: ['form'], answers: {}, waits: true } })
    await gate.reached
    const { id } = await cluster.find('r1')

    cluster.clock.advance(1_000)
    cluster.clock.set(setMs)
    gate.open(null)
    await cluster.until(id, ({ extras }) => extras?.asking?.questions !== undefined)
    await settled()

    await expectTimeoutAtDeadline(cluster, id)
  })

  test('a call that fails after it began to wait is tried again while there is time before its deadline, and not after', async () => {
    const cluster = openCluster()
    const gates = [new Gate(), new Gate(), new Gate()]
    let runs = 0
    const elsewhere: Backend = {
      kind: 'elsewhere',
      async execute(_args: unknown, context: BackendContext) {
        await gates[runs++]?.pass()
        await context.expectAnswer({ job: runs })
        throw new Fault('upstream', 'The tool is down.')
      },
      resume: () => 'answered',
    }
    const render = operation('v1:render', {
      model: 'async',
      deadlineMs: DEADLINE_MS,
      retry: { attempts: 3, backoffMs: 40_000, maxBackoffMs: 40_000 },
      backend: { kind: 'elsewhere' },
    })
    const node = new Node(cluster, { operations: [render], backends: { elsewhere } })
    await node.call('v1:render')
    await gates[0]?.reached
    const { id } = await cluster.find('r1')

    cluster.clock.advance(1_000)
    cluster.clock.set(setMs)
    gates[0]?.open(null)
    await settled()
    const { extras, state } = (await cluster.store.get(id)) ?? {}
    expect([state, (extras?.deadlineAt ?? 0) - cluster.clock.now()]).toEqual(['pending', DEADLINE_MS - 1_000])
    await pass(cluster, 50_000)
    const triedAgain = runs
    cluster.clock.set(setMs)
    gates[1]?.open(null)
    await settled()

    expect(triedAgain).toBe(2)
    expect(await cluster.store.get(id)).toMatchObject({ state: 'error', outcome: { fault: { kind: 'upstream' } } })
    expect(runs).toBe(2)
  })

  test('an unrecorded call that goes on as a recorded one keeps its deadline and its back-off', async () => {
    const cluster = openCluster()
    const gate = new Gate()
    let runs = 0
    const flaky = operation('v1:flaky', {
      maxSyncMs: 5_000,
      deadlineMs: DEADLINE_MS,
      retry: { attempts: 2, backoffMs: 20_000, maxBackoffMs: 20_000 },
      async run() {
        if (++runs > 1) return 'second'
        await gate.pass()
        throw new Fault('upstream', 'The tool is down.')
      },
    })
    const node = new Node(cluster, { operations: [flaky] })
    const replying = node.call('v1:flaky')
    await gate.reached

    cluster.clock.set(setMs)
    gate.open(null)
    expect(await replying).toMatchObject({ state: 'pending' })
    const { id, extras } = await cluster.find('r1')
    expect((extras?.deadlineAt ?? 0) - cluster.clock.now()).toBe(DEADLINE_MS)
    await pass(cluster, 25_000)

    expect(await cluster.store.get(id)).toMatchObject({ state: 'complete', outcome: { value: 'second' } })
  })

  test('an unrecorded call that takes longer than its caller waits ends at its deadline', async () => {
    const cluster = openCluster()
    const gate = new Gate()
    const slow = operation('v1:slow', { maxSyncMs: 2_000, deadlineMs: DEADLINE_MS, run: () => gate.pass() })
    const node = new Node(cluster, { operations: [slow] })
    const replying = node.call('v1:slow')
    await gate.reached

    cluster.clock.advance(10)
    cluster.clock.set(setMs)
    await pass(cluster, 2_000)
    expect(await replying).toMatchObject({ state: 'pending' })
    const { id, extras } = await cluster.find('r1')
    expect((extras?.deadlineAt ?? 0) - cluster.clock.now()).toBe(DEADLINE_MS - 2_010)
    await pass(cluster, DEADLINE_MS - 2_011)
    expect((await cluster.store.get(id))?.state).toBe('pending')
    await pass(cluster, 1)

    expect(await cluster.store.get(id)).toMatchObject({ state: 'error', outcome: { fault: { kind: 'timeout' } } })
    gate.open(null)
  })

  test('a retry that waits for its late handler begins when that one returns', async () => {
    const cluster = openCluster()
    const late = new Gate()
    let runs = 0
    const deaf = operation('v1:deaf', {
      model: 'async',
      timeoutMs: 1_000,
      retry: { attempts: 2, backoffMs: 100 },
      run: () => (++runs === 1 ? late.pass() : 'second'),
    })
    const node = new Node(cluster, { operations: [deaf] })
    await node.call('v1:deaf')
    await late.reached
    const { id } = await cluster.find('r1')
    cluster.clock.advance(1_000)
    await cluster.until(id, ({ failures }) => failures === 1)
    await settled()

    cluster.clock.set(setMs)
    cluster.clock.advance(STOP_GRACE_MS / 10)
    await settled()
    const whileItRuns = runs
    late.open('too late')
    await settled()
    cluster.clock.advance(1)
    await settled()

    expect(whileItRuns).toBe(1)
    expect(await cluster.store.get(id)).toMatchObject({ state: 'complete', outcome: { value: 'second' } })
  })
})
