/** Limits of streams: how many a caller and an operation have, and how fast frames are sent. */
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { ADA, openCluster, settled } from '../engine/node.ts'
import { ANY, BOB, createFeed, nodeWith, read, subscribe } from './nodes.ts'

describe('limits', () => {
  test('a caller has streamsPerCaller streams, and each one that ends makes room', async () => {
    const cluster = openCluster()
    const { definition } = createFeed()
    const node = nodeWith(cluster, [definition], { limits: { streamsPerCaller: 2 } })
    const [first] = [await subscribe(cluster, node), await subscribe(cluster, node)]

    await expect(subscribe(cluster, node)).rejects.toMatchObject({ code: 'TOO_MANY_STREAMS', kind: 'overloaded' })
    await subscribe(cluster, node, 'v1:feed.watch', BOB)
    await node.calls.unsubscribe(ADA, { requestId: first.requestId })
    await settled()
    await subscribe(cluster, node)

    expect(node.limits.open).toBe(3)
  })

  test('10,000 subscriptions of one caller: 100 stand, the others are refused and leave nothing', async () => {
    const cluster = openCluster()
    const { definition } = createFeed()
    const node = nodeWith(cluster, [definition])

    const tries = await Promise.allSettled(Array.from({ length: 10_000 }, () => subscribe(cluster, node)))

    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    expect(await cluster.store.records.list('stream-session/', 1_000)).toHaveLength(100)
    expect(node.limits.open).toBe(100)
  })

  test('an operation has as many streams at once as its concurrency', async () => {
    const cluster = openCluster()
    const { definition } = createFeed({ concurrency: 1 })
    const node = nodeWith(cluster, [definition])
    const { requestId } = await subscribe(cluster, node)

    await expect(subscribe(cluster, node, 'v1:feed.watch', BOB)).rejects.toMatchObject({ code: 'BUSY' })
    await node.calls.unsubscribe(ADA, { requestId })
    await settled()

    await subscribe(cluster, node, 'v1:feed.watch', BOB)
  })

  test('a caller that opens its stream again does not get a new rate', async () => {
    const cluster = openCluster()
    const endless = operation('v1:feed.endless', {
      frame: ANY,
      *run() {
        for (;;) yield 1
      },
    })
    const node = nodeWith(cluster, [endless], { limits: { framesPerSecond: 10 } })
    let sent = 0
    for (let times = 0; times < 20; times++) {
      const subscribed = await subscribe(cluster, node, 'v1:feed.endless')
      const { got } = await read(node, subscribed)
      await node.calls.unsubscribe(ADA, { requestId: subscribed.requestId })
      await settled()
      sent += got.length
    }

    // A burst of one second, and the frame that each stream sends before it waits.
    expect(sent).toBeLessThanOrEqual(10 + 20)
  })

  test.each([
    ['framesPerSecond', { framesPerSecond: 10 }],
    ['frameBytesPerSecond', { frameBytesPerSecond: 10 }],
  ])('%s holds for all streams of a caller together', async (_name, limits) => {
    const cluster = openCluster()
    const endless = operation('v1:feed.endless', {
      frame: ANY,
      *run() {
        for (;;) yield 1
      },
    })
    const node = nodeWith(cluster, [endless], { limits })
    const readers = [
      await read(node, await subscribe(cluster, node, 'v1:feed.endless')),
      await read(node, await subscribe(cluster, node, 'v1:feed.endless')),
    ]
    for (let second = 0; second < 20; second++) {
      for (let tenth = 0; tenth < 10; tenth++) {
        cluster.clock.advance(100)
        await settled()
      }
    }

    const sent = readers.reduce((sum, { got }) => sum + got.length, 0)
    expect(sent).toBeGreaterThanOrEqual(190)
    expect(sent).toBeLessThanOrEqual(215)
  })
})
