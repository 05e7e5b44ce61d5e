/**
 * Two actors change one call at the same time: the second sees the change of the first, and no change is undone or
 * lost.
 */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { ADA, Gate, Node, openCluster, settled } from './node.ts'

test('an overdue call that a worker claims before its end is written continues, and its key stays taken', async () => {
  const cluster = openCluster()
  const held = new Gate<string>()
  const work = operation('v1:work', { model: 'async', ttlSeconds: 60, run: () => held.pass() })
  const keeper = new Node(cluster, { operations: [work], limits: { runningCalls: 0 } })
  const runner = new Node(cluster, { operations: [work] })
  await keeper.call('v1:work', {}, { requestId: 'first', idempotencyKey: 'k1' })
  const { id } = await cluster.find('first')
  const { overdue } = cluster.store
  cluster.store.overdue = async (limit) => {
    const seen = await overdue(limit)
    // A clock that is corrected makes it claimable once more.
    cluster.clock.advance(-1)
    runner.engine.worker.wake()
    await held.reached
    return seen
  }

  cluster.clock.advance(60_000)
  await keeper.maintenance.tidy()
  const taken = await cluster.store.get(id)
  await runner.call('v1:work', {}, { requestId: 'again', idempotencyKey: 'k1' })
  held.open('done')

  expect(taken).toMatchObject({ state: 'pending', attempt: 1 })
  expect(await cluster.ended(id)).toMatchObject({ state: 'complete', outcome: { value: 'done' } })
  expect(held.runs).toBe(1)
})

test('a cancel that comes while the next try is being written down ends the call, and that try never begins', async () => {
  const cluster = openCluster()
  let runs = 0
  const work = operation('v1:work', {
    model: 'async',
    retry: { attempts: 2, backoffMs: 100 },
    run: (_args, ctx) => ctx.fail(`FAILED_${++runs}`, 'Not now.', { retryable: true }),
  })
  const node = new Node(cluster, { operations: [work] })
  const writing = new Gate<void>()
  const { advance } = cluster.store
  cluster.store.advance = async (change) => {
    await writing.pass()
    return advance(change)
  }
  await node.call('v1:work')
  await writing.reached

  const canceling = node.followUp.cancel(ADA, 'r1')
  await settled()
  writing.open()
  await settled()
  cluster.clock.advance(100)

  expect(await canceling).toMatchObject({ state: 'error', fault: { kind: 'canceled' } })
  expect(runs).toBe(1)
})
