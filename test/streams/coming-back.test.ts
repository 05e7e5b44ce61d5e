/** Readers that come back after the end of their stream, which was while they were away. */
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { openSeal } from '../../src/wire/frames/seal.ts'
import { ADA, openCluster, settled } from '../engine/node.ts'
import { PlayedReader } from './channels.ts'
import { ANY, BOB, nodeWith, read, subscribe } from './nodes.ts'
import { TestPipes } from './pipes.ts'

function count(frames: number, stream = {}, end?: Promise<void>) {
  return operation('v1:feed.watch', {
    frame: ANY,
    stream,
    async *run() {
      for (let n = 1; n <= frames; n++) yield n
      await end
    },
  })
}

function numbersIn({ got }: PlayedReader): number[] {
  return got.map((frame) => openSeal(frame as Uint8Array).seq)
}

/** A stream that has ended on one of two nodes. */
async function endWhileAway(stream = {}) {
  const cluster = openCluster()
  const pipes = new TestPipes()
  const definition = count(5, stream)
  const node = nodeWith(cluster, [definition], { pipes: pipes.forNode() })
  const other = nodeWith(cluster, [definition], { pipes: pipes.forNode() })
  const subscribed = await subscribe(cluster, node)
  await read(node, subscribed)
  await cluster.ended(subscribed.id)
  await settled()
  return { cluster, node, other, ...subscribed }
}

const SEALED = { integrity: 'crc32' as const }
const MISSING = { kind: 'not-found' }

describe('a stream that ended while its reader was away', () => {
  test('a resumed reader gets every frame it missed before it is told of the end', async () => {
    const cluster = openCluster()
    const done = Promise.withResolvers<void>()
    const node = nodeWith(cluster, [count(500, SEALED, done.promise)])
    const subscribed = await subscribe(cluster, node)
    const first = await read(node, subscribed)
    while (first.got.length < 500) await settled()
    first.leave()
    const second = new PlayedReader(64)
    await node.calls.readStream(ADA, second.connecting(subscribed.id, { after: 0 }))
    done.resolve()
    await settled()
    while (!second.ended) {
      second.read(64)
      await settled()
    }

    expect(numbersIn(second)).toEqual(Array.from({ length: 500 }, (_, n) => n + 1))
    expect(second.ended).toBe('complete')
  })

  test.each(['node', 'other'] as const)('its frames are there for 60 seconds, at this %s', async (place) => {
    const { cluster, id, ...nodes } = await endWhileAway(SEALED)
    cluster.clock.advance(59_999)
    const back = new PlayedReader()
    await nodes[place].calls.readStream(ADA, back.connecting(id, { after: 2 }))
    await settled()

    expect([numbersIn(back), back.ended]).toEqual([[3, 4, 5], 'complete'])

    cluster.clock.advance(1)
    const late = nodes[place].calls.readStream(ADA, new PlayedReader().connecting(id, { after: 2 }))
    await expect(late).rejects.toMatchObject(MISSING)
  })

  test('only its caller gets them, and only with the number of its last frame', async () => {
    const { node, id } = await endWhileAway(SEALED)
    const reading = (caller: typeof ADA, more = {}) =>
      node.calls.readStream(caller, new PlayedReader().connecting(id, more))

    await expect(reading(BOB, { after: 2 })).rejects.toMatchObject(MISSING)
    await expect(reading(ADA)).rejects.toMatchObject(MISSING)
    await expect(reading(ADA, { after: 2 })).resolves.toBeUndefined()
  })

  test('frames without numbers are not kept, and a shutdown keeps none', async () => {
    const plain = await endWhileAway()
    const sealed = await endWhileAway(SEALED)
    sealed.node.engine.drain()

    for (const { node, id } of [plain, sealed]) {
      const back = node.calls.readStream(ADA, new PlayedReader().connecting(id, { after: 2 }))
      await expect(back).rejects.toMatchObject({ kind: expect.stringMatching(/not-found|malformed|unavailable/) })
    }
  })
})
