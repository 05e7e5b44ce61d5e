/** Handlers of streams that misbehave: they throw, hang, flood, or yield values that are no frames. */
import { jsonSchema, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation/operation.ts'
import type { Overflow } from '../../src/core/operation/stream.ts'
import { ADA, Gate, openCluster, settled } from '../engine/node.ts'
import { ANY, nodeWith, read, subscribe } from './nodes.ts'

describe('a handler that misbehaves', () => {
  async function run(definition: OperationDefinition, room?: number) {
    const cluster = openCluster()
    const node = nodeWith(cluster, [definition])
    const subscribed = await subscribe(cluster, node, definition.name)
    const reader = await read(node, subscribed, room)
    return { cluster, node, reader, ...subscribed }
  }

  test('throws: the stream ends in error, and the frames before it have arrived', async () => {
    const { cluster, id, reader } = await run(
      operation('v1:feed.throws', {
        frame: ANY,
        async *run() {
          yield 1
          throw new Error('the sensor is on fire')
        },
      }),
    )

    expect((await cluster.ended(id)).outcome).toMatchObject({ kind: 'fault', fault: { kind: 'internal' } })
    expect([reader.values, reader.ended]).toMatchObject([[1], { kind: 'internal' }])
  })

  test('breaks its schema: the stream ends in error at once, even if the handler never returns', async () => {
    const broken = operation('v1:feed.breaks', {
      frame: jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }),
      async *run() {
        try {
          yield { n: 1 }
          yield { n: 'two' } as unknown as { n: number }
        } finally {
          await new Promise(() => {})
        }
      },
    })
    const { cluster, id, reader } = await run(broken)

    expect((await cluster.ended(id)).outcome).toMatchObject({ fault: { code: 'INVALID_FRAME' } })
    await settled()
    expect([reader.values, reader.ended]).toMatchObject([[{ n: 1 }], { code: 'INVALID_FRAME' }])
  })

  test.each([
    ['bytes in JSON', new Uint8Array([1, 2])],
    ['nothing', undefined],
    ['no JSON', 10n],
  ])('yields %s: the stream ends in error', async (_name, frame) => {
    const { cluster, id } = await run(
      operation('v1:feed.odd', {
        frame: ANY,
        stream: { trusted: true },
        *run() {
          yield frame as unknown as number
        },
      }),
    )

    expect((await cluster.ended(id)).outcome).toMatchObject({ kind: 'fault', fault: { kind: 'internal' } })
  })

  test('returns no iterable: the stream ends in error', async () => {
    const { cluster, id } = await run(
      operation('v1:feed.text', { frame: ANY, run: () => 'abc' as unknown as Iterable<number> }),
    )

    expect((await cluster.ended(id)).outcome).toMatchObject({ fault: { code: 'UNUSABLE_RESULT' } })
  })

  test('hangs and ignores its signal: unsubscribing ends the stream all the same', async () => {
    const { cluster, node, id, requestId, reader } = await run(
      operation('v1:feed.hangs', {
        frame: ANY,
        async *run() {
          yield 1
          await new Promise(() => {})
        },
      }),
    )

    await node.calls.unsubscribe(ADA, { requestId })

    expect((await cluster.ended(id)).outcome).toMatchObject({ value: { frames: 1, ended: 'unsubscribed' } })
    await settled()
    expect(reader.ended).toBe('complete')
  })

  test('waits for a reader that does not read: its cleanup runs when the stream is over', async () => {
    const cleaned = new Gate()
    const { node, requestId } = await run(
      operation('v1:feed.stuck', {
        frame: ANY,
        async *run() {
          try {
            for (;;) yield 1
          } finally {
            void cleaned.pass()
          }
        },
      }),
      1,
    )

    await node.calls.unsubscribe(ADA, { requestId })

    await cleaned.reached
  })

  test.each<[Overflow, number | undefined]>([
    ['wait', undefined],
    ['wait', 1],
    ['latest', undefined],
    ['latest', 1],
    ['drop', undefined],
    ['drop', 1],
    ['end', undefined],
  ])('never waits (%s, room %s): the process goes on working', async (overflow, room) => {
    for (const sync of [true, false]) {
      const { cluster, node, id, requestId } = await run(
        operation('v1:feed.flood', {
          frame: ANY,
          stream: { overflow, trusted: true },
          run: () => (sync ? flood() : floodAsync()),
        }),
        room,
      )

      await node.calls.unsubscribe(ADA, { requestId })

      expect((await cluster.ended(id)).state).toBe('complete')
    }
  })

  test('never waits with overflow end: the stream ends because its reader is too slow', async () => {
    const { cluster, id } = await run(
      operation('v1:feed.flood', { frame: ANY, stream: { overflow: 'end' }, run: flood }),
      1,
    )

    expect((await cluster.ended(id)).outcome).toMatchObject({ fault: { kind: 'overloaded', code: 'SLOW_READER' } })
  })

  test('ends while its reader has no room: the newest frame still arrives before the end', async () => {
    const { cluster, id, reader } = await run(
      operation('v1:feed.short', { frame: ANY, stream: { overflow: 'latest' }, run: () => [1, 2, 3, 4] }),
      1,
    )
    expect(reader.values).toEqual([1])

    reader.read(10)

    expect((await cluster.ended(id)).outcome).toMatchObject({ value: { frames: 2, dropped: 2, ended: 'done' } })
    await settled()
    expect([reader.values, reader.ended]).toEqual([[1, 4], 'complete'])
  })

  test('is a plain iterable, or a generator of promises: every value is a frame', async () => {
    const plain = await run(operation('v1:feed.plain', { frame: ANY, run: () => [1, 2, 3] }))
    const later = await run(
      operation('v1:feed.later', {
        frame: ANY,
        *run() {
          yield Promise.resolve(4) as unknown as number
        },
      }),
    )

    await settled()
    expect([plain.reader.values, later.reader.values]).toEqual([[1, 2, 3], [4]])
    expect([plain.reader.ended, later.reader.ended]).toEqual(['complete', 'complete'])
  })
})

function* flood(): Generator<number> {
  for (;;) yield 1
}

async function* floodAsync(): AsyncGenerator<number> {
  for (;;) yield 1
}
