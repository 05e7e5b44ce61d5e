/** Streams on several nodes: which node runs the handler, and the death of a node. */
import { describe, expect, test } from 'vitest'
import { ADA, LEASE_MS, openCluster, settled } from '../engine/node.ts'
import { PlayedReader } from './channels.ts'
import { createFeed, nodeWith, read, subscribe, subscribedIn, WISH } from './nodes.ts'

describe('several nodes', () => {
  test('the ticket works at another node, which runs the handler', async () => {
    const cluster = openCluster()
    const [here, there] = [createFeed(), createFeed()]
    const accepting = nodeWith(cluster, [here.definition])
    const running = nodeWith(cluster, [there.definition])
    const subscribed = await subscribe(cluster, accepting)

    const reader = await read(running, subscribed)
    there.feed.push(7)
    await settled()

    expect([here.feed.starts, there.feed.starts, reader.values]).toEqual([0, 1, [7]])
  })

  test('of readers that reach two nodes at once, one starts the handler and one is sent away', async () => {
    const cluster = openCluster()
    const [here, there] = [createFeed(), createFeed()]
    const nodes = [nodeWith(cluster, [here.definition]), nodeWith(cluster, [there.definition])] as const
    const { id } = await subscribe(cluster, nodes[0])

    const connected = await Promise.allSettled(
      nodes.map((node) => node.calls.readStream(ADA, new PlayedReader().connecting(id))),
    )
    await settled()

    expect(here.feed.starts + there.feed.starts).toBe(1)
    const refused = connected.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused).toMatchObject([{ code: 'STREAM_ELSEWHERE', retryable: true }])
  })

  test('of two readers that reach one node at once, the second takes the place of the first', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const node = nodeWith(cluster, [definition])
    const { id } = await subscribe(cluster, node)
    const [first, second] = [new PlayedReader(), new PlayedReader()]

    await Promise.all([first, second].map((reader) => node.calls.readStream(ADA, reader.connecting(id))))
    feed.push(1)
    await settled()

    expect(feed.starts).toBe(1)
    expect(first.ended).toMatchObject({ code: 'READER_REPLACED' })
    expect(second.values).toEqual([1])
  })

  test('the streams of a killed node end in error within a lease, and can be subscribed again', async () => {
    const cluster = openCluster()
    const { definition } = createFeed()
    const dying = nodeWith(cluster, [definition])
    const other = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, dying)
    await read(dying, subscribed)
    other.engine.worker.wake()
    await settled()

    dying.kill()
    for (let passed = 0; passed < LEASE_MS + 5_000; passed += 5_000) {
      cluster.clock.advance(5_000)
      await settled()
    }

    expect((await cluster.ended(subscribed.id)).outcome).toMatchObject({ fault: { code: 'STREAM_INTERRUPTED' } })
    expect(await cluster.store.records.list('stream-', 10)).toEqual([])
    const again = await other.call('v1:feed.watch', {}, { requestId: 'again' }, WISH)
    await read(other, await subscribedIn(cluster, again))
  })

  test('a node that was suspended for longer than its lease ends the reader of a stream that is over', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const frozen = nodeWith(cluster, [definition])
    const other = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, frozen)
    const reader = await read(frozen, subscribed)
    other.engine.worker.wake()
    await settled()

    frozen.freeze()
    cluster.clock.advance(LEASE_MS + 5_000)
    await cluster.ended(subscribed.id)
    frozen.thaw()
    await settled()
    cluster.clock.advance(LEASE_MS)
    await settled()

    expect(reader.ended).toMatchObject({ code: 'STREAM_INTERRUPTED' })
    expect(feed.stops).toHaveLength(1)
  })

  test('a stream of another node is unsubscribed within a renewal of its lease', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const running = nodeWith(cluster, [definition])
    const other = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, running)
    const reader = await read(running, subscribed)

    const unsubscribing = other.calls.unsubscribe(ADA, { requestId: subscribed.requestId })
    await settled()
    cluster.clock.advance(LEASE_MS / 3)
    await cluster.ended(subscribed.id)
    await settled()

    expect(await unsubscribing).toEqual([subscribed.requestId])
    expect([reader.ended, feed.stops.length]).toEqual(['complete', 1])
    expect((await cluster.store.get(subscribed.id))?.outcome).toMatchObject({ value: { ended: 'unsubscribed' } })
  })
})
