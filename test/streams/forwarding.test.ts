/** Streams whose reader is connected to another process: order, room for frames, the window, and lost connections. */
import { expect, test } from 'vitest'
import type { Overflow } from '../../src/core/operation/stream.ts'
import { ADA, openCluster, settled } from '../engine/node.ts'
import { PlayedReader } from './channels.ts'
import { createFeed, nodeWith, read, subscribe } from './nodes.ts'
import { TestPipes } from './pipes.ts'

/** A stream that runs on one node, and a reader of it at the other. */
async function forward(room?: number, stream: { overflow?: Overflow; integrity?: 'crc32' } = {}) {
  const cluster = openCluster()
  const pipes = new TestPipes()
  const { feed, definition } = createFeed({}, stream)
  const running = nodeWith(cluster, [definition], { pipes: pipes.forNode() })
  const other = nodeWith(cluster, [definition], { pipes: pipes.forNode() })
  const subscribed = await subscribe(cluster, running)
  const first = await read(running, subscribed)
  const reader = new PlayedReader(room)
  await other.calls.readStream(ADA, reader.connecting(subscribed.id))
  await settled()
  return { cluster, pipes, feed, running, other, subscribed, first, reader }
}

const NUMBERS = Array.from({ length: 1_000 }, (_, n) => n)

test('frames arrive in order, and the end after them; the reader before is replaced', async () => {
  const { cluster, feed, running, subscribed, first, reader } = await forward()

  feed.push(...NUMBERS)
  for (let turns = 0; turns < 20; turns++) await settled()
  await running.calls.unsubscribe(ADA, { requestId: subscribed.requestId })
  await cluster.ended(subscribed.id)
  await settled()

  expect(first.ended).toMatchObject({ code: 'READER_REPLACED' })
  expect(reader.values).toEqual(NUMBERS)
  expect(reader.ended).toBe('complete')
})

test('a reader without room makes the handler wait, and gets every frame when it reads', async () => {
  const { feed, reader } = await forward(10)
  const left = NUMBERS.length

  feed.push(...NUMBERS)
  await settled()
  await settled()

  // 64 frames are under way at most, and the handler has one more in its hands.
  expect(reader.values).toEqual(NUMBERS.slice(0, 10))
  expect(feed.left()).toBeGreaterThanOrEqual(left - 10 - 64 - 1)

  reader.read(Number.POSITIVE_INFINITY)
  for (let turns = 0; turns < 20; turns++) await settled()
  expect(reader.values).toEqual(NUMBERS)
})

test('large frames fill the room by their bytes', async () => {
  const { feed, reader } = await forward(1)

  feed.push(...Array.from({ length: 100 }, () => 'x'.repeat(100_000) as unknown as number))
  await settled()
  await settled()

  expect(reader.got).toHaveLength(1)
  expect(feed.left()).toBeGreaterThanOrEqual(100 - 5)
})

test('with overflow latest a slow reader misses frames, and gets the newest', async () => {
  const { feed, reader } = await forward(1, { overflow: 'latest' })

  feed.push(...NUMBERS)
  for (let turns = 0; turns < 20; turns++) await settled()
  reader.read(Number.POSITIVE_INFINITY)
  await settled()

  expect(feed.left()).toBe(0)
  expect(reader.values.length).toBeLessThan(100)
  expect(reader.values.at(-1)).toBe(NUMBERS.at(-1))
})

test('a reader whose connection between the processes breaks is told, and resumes without a gap', async () => {
  const { pipes, feed, reader, subscribed, running } = await forward(undefined, { integrity: 'crc32' })
  feed.push(1, 2, 3)
  await settled()

  pipes.break()
  await settled()
  const again = new PlayedReader()
  await running.calls.readStream(ADA, again.connecting(subscribed.id, { after: 1 }))
  await settled()

  expect(reader.got).toHaveLength(3)
  expect(reader.ended).toMatchObject({ code: 'STREAM_CONNECTION_LOST', retryable: true })
  expect(again.got).toEqual(reader.got.slice(1))
})

test('a reader that leaves is gone for the stream, which ends a minute later', async () => {
  const { cluster, reader, subscribed } = await forward()

  reader.leave()
  await settled()
  cluster.clock.advance(60_000)

  expect((await cluster.ended(subscribed.id)).outcome).toMatchObject({ fault: { code: 'READER_GONE' } })
})

test('a process that shuts down ends its readers, and not the stream', async () => {
  const { cluster, other, reader, subscribed } = await forward()

  other.engine.drain()
  await settled()

  expect(reader.ended).toMatchObject({ code: 'STREAM_CONNECTION_LOST' })
  expect((await cluster.store.get(subscribed.id))?.state).toBe('streaming')
})

test('a stream that no reachable process runs is unavailable, and the reader may come again', async () => {
  const cluster = openCluster()
  const { definition } = createFeed()
  const unreachable = nodeWith(cluster, [definition])
  const other = nodeWith(cluster, [definition], { pipes: new TestPipes().forNode() })
  const subscribed = await subscribe(cluster, unreachable)
  await read(unreachable, subscribed)

  const connecting = other.calls.readStream(ADA, new PlayedReader().connecting(subscribed.id))

  await expect(connecting).rejects.toMatchObject({ code: 'STREAM_ELSEWHERE', retryable: true })
})
