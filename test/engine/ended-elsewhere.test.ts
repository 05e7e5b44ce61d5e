/** A call that is queued on one node and run by another. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { Node, openCluster, settled } from './node.ts'

test('a caller that waits for a queued call gets its end, even if another node ended it before the watch began', async () => {
  const cluster = openCluster()
  const operations = [operation('v1:work', { model: 'async', run: () => 'done' })]
  const { store } = cluster
  const other = new Node(cluster, { operations })
  cluster.store = {
    ...store,
    async accept(instance) {
      const acceptance = await store.accept(instance)
      other.engine.worker.wake()
      await cluster.ended(instance.id)
      return acceptance
    },
  }
  const full = new Node(cluster, { operations, limits: { runningCalls: 0 } })

  const replying = full.call('v1:work', {}, {}, { holdMs: 10_000 })
  await settled()
  cluster.clock.advance(10_000)

  expect(await replying).toMatchObject({ state: 'complete' })
})
