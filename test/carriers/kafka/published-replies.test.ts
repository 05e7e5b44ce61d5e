/** A message is done when the brokers have its replies. The brokers are a function here, so that the test decides when. */
import type { KafkaRecord } from '@platformatic/kafka'
import { expect, test } from 'vitest'
import type { Fetched } from '../../../src/carriers/kafka/consumer.ts'
import { Outbox, type Outgoing } from '../../../src/carriers/kafka/outbox.ts'
import type { BatchProducer } from '../../../src/carriers/kafka/producer.ts'
import type { Publishing } from '../../../src/carriers/kafka/publishing.ts'
import { Received } from '../../../src/carriers/kafka/received.ts'
import { Replies } from '../../../src/carriers/kafka/replies.ts'
import { ReplyAddress } from '../../../src/carriers/kafka/reply-address.ts'
import type { KafkaSettings } from '../../../src/carriers/kafka/settings.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'

function openAddress() {
  const sent = Promise.withResolvers<unknown>()
  const ending = new AbortController()
  const outbox = new Outbox({
    topic: 'replies',
    producer: () => ({ send: () => sent.promise }) as unknown as BatchProducer,
    log: createMemoryLog([]),
    signal: ending.signal,
    published() {},
    lost() {},
    idle() {},
  })
  const address = new ReplyAddress(
    { refusal: undefined, place: {}, inPlaceOf: (message) => message },
    (reply, _about, settled) =>
      outbox.add({ topic: 'replies', value: Buffer.from(String(reply)), headers: new Map(), settled }),
  )
  return { address, sent, ending }
}

test('a message without a reply is done at once', () => {
  expect(openAddress().address.flushed()).toBe(true)
})

test('a message is done when its reply is published', async () => {
  const { address, sent } = openAddress()
  address.send('reply', 'r1')
  let isDone: boolean | undefined
  const done = Promise.resolve(address.flushed()).then((published) => {
    isDone = published
  })

  await new Promise(setImmediate)
  await new Promise(setImmediate)
  expect(isDone).toBeUndefined()
  sent.resolve(undefined)
  await done
  expect(isDone).toBe(true)
})

test('a message is not done if the carrier closes before its reply is published', async () => {
  const { address, sent, ending } = openAddress()
  address.send('reply', 'r1')
  const published = address.flushed()

  await new Promise(setImmediate)
  ending.abort()
  sent.reject(new Error('closed'))

  expect(await published).toBe(false)
})

/** Replies whose messages are collected. */
function openReplies(more: Partial<KafkaSettings> = {}) {
  const added: Outgoing[] = []
  const publishing = { add: (message: Outgoing) => void added.push(message) } as unknown as Publishing
  const settings = {
    topics: { operations: 'ops', replies: 'replies', frames: 'frames', deadLetters: 'dead' },
    headers: { replyTopic: 'reply-topic', correlation: 'correlation-id', stream: 'stream-id', refusal: 'refusal' },
    replyTopics: [],
    log: createMemoryLog([]),
    ...more,
  } as unknown as KafkaSettings
  return { added, replies: new Replies(settings, publishing) }
}

function received(record: Pick<KafkaRecord, 'value' | 'headers'>): Received {
  const fetched = { partition: 0, batch: { firstOffset: 1n }, records: [] } as unknown as Fetched
  return new Received('ops', fetched, { offsetDelta: 0, key: null, ...record } as unknown as KafkaRecord)
}

test('a message that is put aside is done when its dead letter is published', async () => {
  const { added, replies } = openReplies()
  const address = replies.addressOf(received({ value: Buffer.from('garbage'), headers: [] }))

  address.send('refused', undefined)
  const done = address.flushed()

  expect(done).toBeInstanceOf(Promise)
  expect(added.map(({ topic }) => topic)).toEqual(['dead'])
  added[0]?.settled?.('published')
  expect(await done).toBe(true)
})

test('a reply that is sent late has its request id as the key, as every reply', async () => {
  const { added, replies } = openReplies()

  const sending = replies.sendLate({}, '{}', 'r1', new AbortController().signal)
  added[0]?.settled?.('published')
  await sending

  expect(added.map(({ topic, key }) => [topic, key?.toString()])).toEqual([['replies', 'r1']])
})

test('of a reply topic that is named twice, the one that was checked is used', () => {
  const name = Buffer.from('reply-topic')
  const topics = [Buffer.from('team.a'), Buffer.from('callplane.secret')]
  for (const [allowed, named] of [
    [true, topics],
    [false, topics.toReversed()],
  ] as const) {
    const { added, replies } = openReplies({ replyTopics: ['team.*'] })
    const headers = named.map((topic) => [name, topic]) as KafkaRecord['headers']
    const address = replies.addressOf(received({ value: Buffer.from('{}'), headers }))

    address.send('reply', 'r1')

    expect(address.refusal === undefined).toBe(allowed)
    expect(added.map(({ topic }) => topic)).toEqual([allowed ? 'team.a' : 'replies'])
  }
})
