/** A store may take seconds to accept or claim a call, and the lease of that call may expire meanwhile. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import { type Cluster, LEASE_MS, Node, openCluster, settled } from './node.ts'

/** The call is stored at once, and the store says so only after this long. */
function acceptLate(cluster: Cluster, afterMs: number): void {
  const { accept } = cluster.store
  cluster.store = {
    ...cluster.store,
    async accept(...given) {
      const acceptance = await accept(...given)
      await new Promise<void>((resolve) => cluster.clock.schedule(afterMs, resolve))
      return acceptance
    },
  }
}

function openPair(afterMs: number) {
  const cluster = openCluster()
  const ran: string[] = []
  const work = (where: string) => operation('v1:work', { model: 'async', run: () => void ran.push(where) })
  const other = new Node(cluster, { operations: [work('other')] })
  acceptLate(cluster, afterMs)
  const slow = new Node(cluster, { operations: [work('slow')] })
  return { cluster, ran, other, slow }
}

test('a node whose acceptance returns after the lease does not run a call that another node has claimed', async () => {
  const { cluster, ran, other, slow } = openPair(2 * LEASE_MS)

  const reply = slow.call('v1:work')
  await settled()
  cluster.clock.advance(LEASE_MS)
  other.engine.worker.wake()
  await settled()
  cluster.clock.advance(LEASE_MS)
  await settled()

  expect(await reply).toMatchObject({ state: 'accepted' })
  expect(ran).toEqual(['other'])
  expect(slow.limits.running).toBe(0)
})

/** The lease of a call is old when the store has accepted it. `attempts` is what the handler was told. */
function openLate() {
  const { cluster, ran, other } = openPair(LEASE_MS - 1)
  const attempts: number[] = []
  const work = operation('v1:work', { model: 'async', run: (_, ctx) => void attempts.push(ctx.attempt) })
  return { cluster, ran, other, attempts, open: () => new Node(cluster, { operations: [work] }) }
}

test('a call whose lease cannot be renewed is given back, and does not count as interrupted', async () => {
  const { cluster, attempts, open } = openLate()
  const { extend } = cluster.store
  let failures = 0
  cluster.store = {
    ...cluster.store,
    extend: (...given) => (failures++ === 0 ? Promise.reject(new Error('The database is away.')) : extend(...given)),
  }
  const node = open()

  const reply = node.call('v1:work', {}, { requestId: 'late' })
  await settled()
  cluster.clock.advance(LEASE_MS - 1)
  await settled()

  expect(await reply).toMatchObject({ state: 'accepted' })
  expect(failures).toBe(1)
  expect(attempts).toEqual([1])
  expect(await cluster.find('late')).toMatchObject({ state: 'complete' })
  expect([node.limits.running, node.limits.queued]).toEqual([0, 0])
})

test('a call whose stop was requested before its lease is renewed does not start', async () => {
  const { cluster, attempts, open } = openLate()
  const node = open()

  const reply = node.call('v1:work', {}, { requestId: 'late' })
  await settled()
  await cluster.store.requestStop((await cluster.find('late')).id)
  cluster.clock.advance(LEASE_MS - 1)
  await settled()

  await reply
  expect(attempts).toEqual([])
  expect(await cluster.find('late')).toMatchObject({ state: 'error' })
})

test('a node that stops while it renews a lease gives the call back', async () => {
  const { cluster, attempts, ran, other, open } = openLate()
  const node = open()

  const reply = node.call('v1:work', {}, { requestId: 'late' })
  await settled()
  void node.engine.worker.stop(2 * LEASE_MS)
  cluster.clock.advance(LEASE_MS - 1)
  await settled()
  await reply
  other.engine.worker.wake()
  await settled()

  expect(attempts).toEqual([])
  expect(ran).toEqual(['other'])
})

test('a node whose acceptance returns late, within the lease, renews the lease and runs the call', async () => {
  const { cluster, ran, slow } = openPair(LEASE_MS - 1)

  const reply = slow.call('v1:work')
  await settled()
  cluster.clock.advance(LEASE_MS - 1)
  await settled()

  expect(await reply).toMatchObject({ state: 'accepted' })
  expect(ran).toEqual(['slow'])
})

test('a node whose claim returns after the lease does not run a call that another node has claimed', async () => {
  const cluster = openCluster()
  const ran: string[] = []
  const work = (where: string) => operation('v1:work', { model: 'async', run: () => void ran.push(where) })
  const first = new Node(cluster, {
    operations: [operation('v1:work', { model: 'async', run: () => new Promise(() => {}) })],
  })
  await first.call('v1:work')
  first.kill()
  const other = new Node(cluster, { operations: [work('other')] })
  const { claim } = cluster.store
  const late = async (...given: Parameters<typeof claim>) => {
    const claimed = await claim(...given)
    if (claimed.instances.length > 0)
      await new Promise<void>((resolve) => cluster.clock.schedule(2 * LEASE_MS, resolve))
    return claimed
  }
  cluster.store = { ...cluster.store, claim: late }
  const slow = new Node(cluster, { operations: [work('slow')] })

  cluster.clock.advance(LEASE_MS)
  slow.engine.worker.wake()
  await settled()
  cluster.clock.advance(LEASE_MS)
  other.engine.worker.wake()
  await settled()
  cluster.clock.advance(LEASE_MS)
  await settled()

  expect(ran).toEqual(['other'])
  expect(slow.limits.running).toBe(0)
})
