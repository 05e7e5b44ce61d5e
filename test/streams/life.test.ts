/** The life of a stream: its end, a reader that goes, a shutdown, a repeated request, and its secrets. */
import { jsonSchema, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { openCluster, settled } from '../engine/node.ts'
import { verifies } from '../requirements.ts'
import { PlayedReader } from './channels.ts'
import { createFeed, nodeWith, read, subscribe, subscribedIn, WISH } from './nodes.ts'

describe('the life of a stream', () => {
  test('it ends complete at its end, and not a moment earlier', async () => {
    verifies('opencall:102', 'opencall:207', 'opencall:273')
    const cluster = openCluster()
    const { definition, feed } = createFeed({ ttlSeconds: 100 })
    const node = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, node)
    const reader = await read(node, subscribed)

    cluster.clock.advance(99_999)
    await settled()
    expect(reader.ended).toBeUndefined()
    cluster.clock.advance(1)
    const ended = await cluster.ended(subscribed.id)
    await settled()

    expect(ended.outcome).toMatchObject({ value: { frames: 0, ended: 'expired' } })
    expect([reader.ended, feed.stops.length]).toEqual(['complete', 1])
  })

  test('setting the clock back does not end it early', async () => {
    const cluster = openCluster()
    const { definition } = createFeed({ ttlSeconds: 100 })
    const node = nodeWith(cluster, [definition])
    const reader = await read(node, await subscribe(cluster, node))

    cluster.clock.set(-50_000)
    cluster.clock.advance(100_000)
    await settled()
    expect(reader.ended).toBeUndefined()
    cluster.clock.advance(50_000)
    await settled()

    expect(reader.ended).toBe('complete')
  })

  test('a stream longer than any timer does not end early', async () => {
    const cluster = openCluster()
    const { definition } = createFeed({ ttlSeconds: 40 * 86_400 })
    const { schedule } = cluster.clock
    // As the system's clock: no timer is longer than 2^31 ms.
    cluster.clock.schedule = (delayMs, run) => schedule(Math.min(delayMs, 2 ** 31 - 1), run)
    const node = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, node)
    const reader = await read(node, subscribed)

    cluster.clock.advance(2 ** 31)
    await settled()

    expect(reader.ended).toBeUndefined()
    expect((await cluster.store.get(subscribed.id))?.state).toBe('streaming')
  })

  test('a reader that is gone for 60 seconds ends it in error', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const node = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, node)
    const reader = await read(node, subscribed)

    reader.leave()
    cluster.clock.advance(60_000)
    const ended = await cluster.ended(subscribed.id)
    await settled()

    expect(ended.outcome).toMatchObject({ fault: { kind: 'unavailable', code: 'READER_GONE' } })
    expect(feed.stops).toEqual(['READER_GONE'])
  })

  test('a shutdown ends the streams of the node at once, also one that starts at that moment', async () => {
    const cluster = openCluster()
    const { definition } = createFeed()
    const node = nodeWith(cluster, [definition])
    const [running, late] = [await subscribe(cluster, node), await subscribe(cluster, node)]
    const reader = await read(node, running)
    const lateReader = new PlayedReader()

    const connecting = node.calls.readStream(undefined, lateReader.connecting(late.id, { ticket: late.ticket }))
    await Promise.resolve()
    node.engine.drain()
    await connecting
    await settled()

    expect([reader.ended, lateReader.ended]).toMatchObject([
      { code: 'STREAM_INTERRUPTED' },
      { code: 'STREAM_INTERRUPTED' },
    ])
    await expect(read(node, running)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
  })

  test('the same request again gets the same stream, without a second ticket; other arguments are refused', async () => {
    const cluster = openCluster()
    const { definition } = createFeed()
    const node = nodeWith(cluster, [definition])
    const call = (args: object) => node.call('v1:feed.watch', args, { requestId: 'same' }, WISH)

    const first = await subscribedIn(cluster, await call({}))
    const again = await subscribedIn(cluster, await call({}))

    expect([again.id, again.ticket]).toEqual([first.id, ''])
    await expect(call({ other: 1 })).rejects.toMatchObject({ code: 'DUPLICATE_REQUEST_ID' })
    expect(node.limits.open).toBe(1)
  })
})

test('secrets that the handler received are removed from frames, and from the fault of a bad one', async () => {
  const secret = 'correct-horse-battery-staple'
  const given = { tokens: new Map(), secrets: new Map([['s', secret]]) }
  const leak = operation('v1:vault.watch', {
    requires: { secrets: ['s'] },
    frame: jsonSchema<string | Uint8Array>({ type: 'string', pattern: '^it is ' }),
    *run(_args, ctx) {
      const value = ctx.secret('s')
      yield `it is ${value}`
      yield value
    },
  })
  const bytes = operation('v1:vault.bytes', {
    requires: { secrets: ['s'] },
    frame: jsonSchema<Uint8Array>({}),
    stream: { encodings: ['binary'] },
    *run(_args, ctx) {
      yield new TextEncoder().encode(`it is ${ctx.secret('s')}`)
    },
  })
  const cluster = openCluster()
  const node = nodeWith(cluster, [leak, bytes])
  const subscribed = await subscribedIn(cluster, await node.call('v1:vault.watch', {}, {}, { ...WISH, given }))
  const reader = await read(node, subscribed)
  const other = await read(
    node,
    await subscribedIn(cluster, await node.call('v1:vault.bytes', {}, {}, { ...WISH, given })),
  )
  const ended = await cluster.ended(subscribed.id)
  await settled()

  expect(reader.got).toHaveLength(1)
  expect(other.got).toHaveLength(1)
  expect(ended.outcome).toMatchObject({ fault: { code: 'INVALID_FRAME' } })
  const texts = [...reader.got, ...other.got.map((frame) => new TextDecoder().decode(frame as Uint8Array))]
  expect(JSON.stringify([texts, ended.outcome, node.log])).not.toContain('correct-horse')
})
