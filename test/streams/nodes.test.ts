/** Streams on several nodes with a manual clock: tickets, leases, deaths, limits, and handlers that misbehave. */
import { jsonSchema, operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import type { Reply } from '../../src/core/call/reply.ts'
import type { OperationDefinition } from '../../src/core/operation/operation.ts'
import type { Overflow } from '../../src/core/operation/stream.ts'
import type { RunOptions } from '../../src/engine/record/recorder.ts'
import { ADA, type Cluster, Gate, LEASE_MS, Node, type NodeOptions, openCluster, settled } from '../engine/node.ts'
import { verifies } from '../requirements.ts'
import { PlayedReader, TICKETED } from './channels.ts'

const BOB: Caller = { ...ADA, subject: 'bob' }
const ANY = jsonSchema<number>({})
const WISH: RunOptions = { stream: (_operation, call) => ({ call, wish: { origin: 'http://test' } }) }

function nodeWith(cluster: Cluster, operations: readonly OperationDefinition[], more: Partial<NodeOptions> = {}): Node {
  return new Node(cluster, { operations, transports: TICKETED, ...more })
}

/** Yields what the test pushes, until its signal aborts. */
function createFeed(rules: { ttlSeconds?: number; concurrency?: number } = {}, stream = {}) {
  const pushed: number[] = []
  const feed = { starts: 0, stops: [] as unknown[], wake: () => {}, push }
  function push(...frames: number[]) {
    pushed.push(...frames)
    feed.wake()
  }
  const definition = operation('v1:feed.watch', {
    frame: ANY,
    stream,
    ...rules,
    async *run(_args, { signal }) {
      feed.starts++
      signal.addEventListener('abort', () => feed.wake())
      try {
        for (;;) {
          while (pushed.length > 0) yield pushed.shift() as number
          if (signal.aborted) return
          await new Promise<void>((resolve) => {
            feed.wake = resolve
          })
        }
      } finally {
        feed.stops.push(signal.reason?.code ?? signal.reason)
      }
    },
  })
  return { feed, definition }
}

interface Subscribed {
  id: string
  requestId: string
  ticket: string
}

async function subscribe(cluster: Cluster, node: Node, name = 'v1:feed.watch', caller = ADA): Promise<Subscribed> {
  const reply = await node.call(name, {}, {}, WISH, caller)
  return subscribedIn(cluster, reply)
}

async function subscribedIn(cluster: Cluster, reply: Reply): Promise<Subscribed> {
  if (reply.state !== 'streaming') throw new Error(`not streaming: ${JSON.stringify(reply)}`)
  const id = reply.stream.location.split('/').at(-1) as string
  await cluster.store.get(id)
  return { id, requestId: reply.requestId, ticket: reply.stream.ticket?.value ?? '' }
}

async function read(
  node: Node,
  { id, ticket }: Pick<Subscribed, 'id' | 'ticket'>,
  room?: number,
): Promise<PlayedReader> {
  const reader = new PlayedReader(room)
  await node.calls.readStream(undefined, reader.connecting(id, { ticket }))
  await settled()
  return reader
}

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
