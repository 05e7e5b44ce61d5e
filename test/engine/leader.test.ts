/** Several nodes on one store: one of them does the maintenance, and another takes over when it stops. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { type Cluster, Node, openCluster, settled } from './node.ts'

const ROUND_MS = 5_000
/** Three rounds that find nothing, each of which lasts twice as long. */
const LEASE_MS = 6 * ROUND_MS
const NOTE = operation('v1:note', { model: 'async', ttlSeconds: 1, run: () => null })

/** Nodes on one store, and which of them looked for overdue calls since. */
async function openNodes(): Promise<{ cluster: Cluster; first: Node; second: Node; swept: Set<string> }> {
  const cluster = openCluster()
  const swept = new Set<string>()
  const { store } = cluster
  const nodeOf = (name: string) => {
    cluster.store = {
      ...store,
      overdue(limit) {
        swept.add(name)
        return store.overdue(limit)
      },
    }
    return new Node(cluster, { operations: [NOTE] })
  }
  const [first, second] = [nodeOf('first'), nodeOf('second')]
  cluster.store = store
  await first.maintenance.start()
  await second.maintenance.start()
  return { cluster, first, second, swept }
}

async function pass(cluster: Cluster, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += ROUND_MS) {
    cluster.clock.advance(ROUND_MS)
    await settled()
  }
}

test('of two nodes the first one keeps house, round after round', async () => {
  const { cluster, first, second, swept } = await openNodes()

  await pass(cluster, 3 * LEASE_MS)

  expect([...swept]).toEqual(['first'])
  await first.maintenance.stop()
  await second.maintenance.stop()
})

test('a node that stops in order leaves the house to another at once', async () => {
  const { cluster, first, second, swept } = await openNodes()

  await first.maintenance.stop()
  await pass(cluster, ROUND_MS)

  expect([...swept]).toEqual(['second'])
  await second.maintenance.stop()
})

test('when the leader dies another node takes over after the lease, and removes what expired meanwhile', async () => {
  const { cluster, first, second, swept } = await openNodes()
  await first.call('v1:note', {}, {}, { holdMs: 1_000 })
  const { id } = await cluster.find('r1')

  first.kill()
  await pass(cluster, LEASE_MS - ROUND_MS)
  const early = [...swept]
  await pass(cluster, 2 * ROUND_MS)

  expect(early).toEqual([])
  expect([...swept]).toEqual(['second'])
  expect(await cluster.store.get(id)).toBe(undefined)
  await second.maintenance.stop()
})

test('a leader that hung becomes a follower, and only the new leader sweeps', async () => {
  const { cluster, first, second, swept } = await openNodes()
  first.freeze()
  await pass(cluster, LEASE_MS + ROUND_MS)
  swept.clear()

  first.thaw()
  await settled()
  await pass(cluster, LEASE_MS)

  expect([...swept]).toEqual(['second'])
  await first.maintenance.stop()
  await second.maintenance.stop()
})

test('two nodes that both take themselves for the leader do no harm', async () => {
  const cluster = openCluster()
  const { store } = cluster
  // As where the lease cannot be written: then each node keeps house.
  const records = { ...store.records, add: () => Promise.reject(new Error('the disk is full')) }
  cluster.store = { ...store, records }
  const nodes = [1, 2].map(() => new Node(cluster, { operations: [NOTE] }))
  await Promise.all(nodes.map((node, n) => node.call('v1:note', {}, { requestId: `r${n}` }, { holdMs: 1_000 })))
  const ids = await Promise.all(['r0', 'r1'].map(async (requestId) => (await cluster.find(requestId)).id))
  cluster.clock.advance(60_000)

  await Promise.all(nodes.map((node) => node.maintenance.tidy()))

  expect(await Promise.all(ids.map((id) => store.get(id)))).toEqual([undefined, undefined])
  expect(nodes.map(({ log }) => log.map(({ level }) => level))).toEqual([['warn'], ['warn']])
})
