/** Tickets of streams: for one reader, once, in time; and the credential of the caller instead. */
import { describe, expect, test } from 'vitest'
import { ADA, openCluster, settled } from '../engine/node.ts'
import { verifies } from '../requirements.ts'
import { PlayedReader } from './channels.ts'
import { BOB, createFeed, nodeWith, read, subscribe } from './nodes.ts'

describe('tickets', () => {
  test('are good for one stream, once, for 60 seconds', async () => {
    verifies('opencall:071', 'opencall:074', 'opencall:075', 'opencall:076')
    const cluster = openCluster()
    const { definition } = createFeed()
    const node = nodeWith(cluster, [definition])
    const [one, two, three] = [
      await subscribe(cluster, node),
      await subscribe(cluster, node),
      await subscribe(cluster, node),
    ]
    const refused = { kind: 'unauthenticated', code: 'INVALID_TICKET' }

    await read(node, one)
    await expect(read(node, one)).rejects.toMatchObject(refused)
    await expect(read(node, { id: one.id, ticket: two.ticket })).rejects.toMatchObject(refused)
    await expect(read(node, { id: three.id, ticket: 'guess' })).rejects.toMatchObject(refused)
    cluster.clock.advance(60_000)
    await expect(read(node, three)).rejects.toMatchObject({ kind: expect.stringMatching(/unauthenticated|not-found/) })
  })

  test('a refused connection does not use them', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const node = nodeWith(cluster, [definition])
    const [one, two] = [await subscribe(cluster, node), await subscribe(cluster, node)]
    const numbered = new PlayedReader().connecting(one.id, { ticket: one.ticket, after: 0 })
    await expect(node.calls.readStream(undefined, numbered)).rejects.toMatchObject({ code: 'STREAM_NOT_RESUMABLE' })
    await expect(read(node, { ...one, id: two.id })).rejects.toMatchObject({ code: 'INVALID_TICKET' })

    const both = await Promise.allSettled([read(node, one), read(node, one)])
    feed.push(1)
    await settled()

    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const [reader] = both.flatMap((settledRead) => (settledRead.status === 'fulfilled' ? [settledRead.value] : []))
    expect(reader?.values).toEqual([1])
  })

  test('are stored as a hash only', async () => {
    const cluster = openCluster()
    const { definition } = createFeed()
    const node = nodeWith(cluster, [definition])
    const { ticket } = await subscribe(cluster, node)

    const records = await cluster.store.records.list('stream-ticket/', 10)

    expect(ticket.length).toBeGreaterThanOrEqual(43)
    expect(records).toHaveLength(1)
    expect(JSON.stringify(records)).not.toContain(ticket)
  })

  test('a stream whose ticket is not used in time ends in error, and the handler never starts', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const node = nodeWith(cluster, [definition])
    const { id } = await subscribe(cluster, node)
    node.engine.worker.wake()
    await settled()

    cluster.clock.advance(59_999)
    await settled()
    expect((await cluster.store.get(id))?.state).toBe('streaming')
    cluster.clock.advance(5_001)
    const ended = await cluster.ended(id)

    expect(ended.outcome).toMatchObject({ kind: 'fault', fault: { code: 'READER_GONE' } })
    expect(feed.starts).toBe(0)
  })

  test('the caller can connect with its own credential instead; a foreign caller finds nothing', async () => {
    const cluster = openCluster()
    const { definition, feed } = createFeed()
    const node = nodeWith(cluster, [definition])
    const { id } = await subscribe(cluster, node)

    const foreign = node.calls.readStream(BOB, new PlayedReader().connecting(id))
    await expect(foreign).rejects.toMatchObject({ kind: 'not-found' })
    const nobody = node.calls.readStream(undefined, new PlayedReader().connecting(id))
    await expect(nobody).rejects.toMatchObject({ kind: 'unauthenticated' })
    const reader = new PlayedReader()
    await node.calls.readStream(ADA, reader.connecting(id))
    feed.push(1)
    await settled()

    expect(reader.values).toEqual([1])
  })
})
