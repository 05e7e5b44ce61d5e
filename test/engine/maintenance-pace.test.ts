/** Maintenance beside calls: it removes a backlog in batches, with pauses in between for calls. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { type Cluster, Node, openCluster, settled } from './node.ts'

const BATCH_TAKES_MS = 40
const REST_MS = 3 * BATCH_TAKES_MS
const TIDY_EVERY_MS = 5_000

/** A node with so many outcomes past their retention, on a store where removing a batch takes a while. */
async function openWithExpired(
  calls: number,
  takesMs = BATCH_TAKES_MS,
): Promise<{ node: Node; cluster: Cluster; batches: number[] }> {
  const cluster = openCluster()
  const note = operation('v1:note', { model: 'async', ttlSeconds: 60, run: () => null })
  const node = new Node(cluster, { operations: [note], limits: { runningCalls: calls } })
  await Promise.all(Array.from({ length: calls }, () => node.call('v1:note', {}, {}, { holdMs: 1_000 })))
  cluster.clock.advance(60_001)
  const batches: number[] = []
  const { expire } = cluster.store
  cluster.store.expire = async (limit, removeObjects) => {
    cluster.clock.advance(takesMs)
    const removed = await expire(limit, removeObjects)
    batches.push(removed)
    return removed
  }
  return { node, cluster, batches }
}

test('after a full batch it pauses for three times the duration of the batch, and continues until nothing is left', async () => {
  const { node, cluster, batches } = await openWithExpired(240)

  const tidying = node.maintenance.tidy()
  await settled()
  const atFirst = [...batches]
  cluster.clock.advance(REST_MS - 1)
  await settled()
  const stillResting = [...batches]
  cluster.clock.advance(1)
  await settled()
  const afterTheRest = [...batches]
  cluster.clock.advance(REST_MS)
  await tidying

  expect([atFirst, stillResting, afterTheRest]).toEqual([[100], [100], [100, 100]])
  expect(batches).toEqual([100, 100, 40])
  expect(await cluster.store.expire(1, async () => {})).toBe(0)
})

test('after a batch that waited for long it pauses for a second', async () => {
  const { node, cluster, batches } = await openWithExpired(240, 60_000)

  const tidying = node.maintenance.tidy()
  await settled()
  cluster.clock.advance(1_000)
  await settled()
  const afterTheRest = [...batches]
  cluster.clock.advance(1_000)
  await tidying

  expect(afterTheRest).toEqual([100, 100])
})

test('a server that stops does not wait for the end of a pause', async () => {
  const { node, cluster, batches } = await openWithExpired(240)
  await node.maintenance.start()
  cluster.clock.advance(TIDY_EVERY_MS)
  await settled()

  await node.maintenance.stop()

  expect(batches).toEqual([100])
})

test('calls that expire unended share a commit, however many they are', async () => {
  const cluster = openCluster()
  const never = operation('v1:never', { model: 'async', ttlSeconds: 60, run: () => new Promise(() => {}) })
  const node = new Node(cluster, { operations: [never] })
  await Promise.all(Array.from({ length: 30 }, () => node.call('v1:never')))
  cluster.clock.advance(60_000)
  let turns = 0
  const counting = setImmediateLoop(() => turns++)

  await node.maintenance.tidy()
  counting.stop()

  expect(await cluster.store.overdue(1)).toEqual([])
  expect(turns).toBeLessThan(30)
})

/** Counts turns of the event loop: a commit takes at least one. */
function setImmediateLoop(turn: () => void): { stop(): void } {
  let next = setImmediate(function again() {
    turn()
    next = setImmediate(again)
  })
  return { stop: () => clearImmediate(next) }
}
