/** Kafka passes the suites that all carriers of messages and frames must pass. */
import { Admin, Consumer, type Message, Producer } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createKafka } from '../../../src/carriers/kafka/index.ts'
import type { KafkaSettings } from '../../../src/carriers/kafka/settings.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { createMemoryLog } from '../../../src/testing/fakes/memory-log.ts'
import { describeFrames } from '../../../src/testing/suites/frames/frames.ts'
import { describeMessages } from '../../../src/testing/suites/messages/messages.ts'
import { scripted } from '../../../src/testing/suites/messages/scripted.ts'
import { describeWith, kafkaBroker } from '../../engines/engines.ts'
import { type Kafka, startKafka } from '../../engines/kafka.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

const runner = { describe, test, expect }

describeWith(kafkaBroker, 'Kafka', () => {
  let kafka: Kafka
  let next = 0
  beforeAll(async () => {
    kafka = await startKafka()
  })
  afterAll(() => kafka[Symbol.asyncDispose]())

  /** Each story has topics of its own, with one partition, because the suite looks at the order. */
  async function settingsOf(log: KafkaSettings['log']): Promise<KafkaSettings> {
    const at = next++
    const topics = { operations: `ops-${at}`, replies: `replies-${at}`, frames: `frames-${at}` }
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [kafka.address] })
    await admin.createTopics({ topics: Object.values(topics), partitions: 1, replicas: 1 })
    await admin.close()
    return {
      brokers: [kafka.address],
      clientId: 'suite',
      group: `suite-${at}`,
      topics,
      replyTopics: [],
      headers: { replyTopic: 'reply-topic', correlation: 'correlation-id', stream: 'stream-id', refusal: 'refusal' },
      inPlaceOf: (_, why) => why.message,
      framesShared: true,
      frameTopic: () => topics.frames,
      maxInFlight: 1_000,
      sessionTimeoutMs: 10_000,
      log,
      clock: systemClock,
    }
  }

  describeMessages(
    runner,
    'messages over Kafka',
    async (open, { maxBytes, log }) => {
      const settings = await settingsOf(log)
      const { operations, replies } = settings.topics
      const carrier = createKafka(settings).serve({ open, origin: () => 'http://a.example', maxBytes })
      await carrier.listen()
      const reader = await readTopic(kafka.address, replies)
      const producer = new Producer({ clientId: 'peer', bootstrapBrokers: [kafka.address], maxInflights: 1 })
      const headers = new Map([[Buffer.from('correlation-id'), Buffer.from('story')]])
      let sending = Promise.resolve()
      let closing: Promise<void> | undefined
      const close = () => {
        closing ??= carrier.close(10_000).then(() => reader.end())
        return closing
      }
      return {
        send(message) {
          const messages = [{ topic: operations, value: Buffer.from(message as string), headers }]
          sending = sending.then(() => producer.send({ messages })).then(() => {})
          return sending
        },
        async read() {
          const message = await reader.next()
          return message && String(message.value)
        },
        leave: () => Promise.reject(new Error('A broker does not know its peers.')),
        close,
        async cleanup() {
          await close()
          await producer.close()
          await reader.close()
        },
      }
    },
    { acknowledges: false, knowsPeer: false },
  )

  test('no more messages are in progress than the option allows, and the next ones follow', async () => {
    const settings = { ...(await settingsOf(createMemoryLog([]))), maxInFlight: 20 }
    const { serve, counts } = createKafka(settings)
    const held: (() => void)[] = []
    let most = 0
    const session = scripted({
      async receive() {
        most = Math.max(most, counts().inFlight)
        await new Promise<void>((resolve) => held.push(resolve))
      },
    })
    const carrier = serve({ open: session.open, origin: () => 'http://a.example', maxBytes: 1_000 })
    await carrier.listen()
    const producer = new Producer({ clientId: 'peer', bootstrapBrokers: [kafka.address] })
    const messages = Array.from({ length: 200 }, (_, n) => ({
      topic: settings.topics.operations,
      value: Buffer.from(String(n)),
    }))
    await producer.send({ messages })

    for (let round = 1; round <= 10; round++) {
      await session.until(() => session.received.length >= 20 * round)
      // A twenty-first message would have come with the same fetch.
      await new Promise(setImmediate)
      for (const release of held.splice(0)) release()
    }
    await carrier.close(10_000)
    await producer.close()

    expect(most).toBe(20)
    expect(session.received).toEqual(messages.map(({ value }) => String(value)))
  })

  describeFrames(
    runner,
    'frames over Kafka',
    async () => {
      const settings = await settingsOf(createMemoryLog([]))
      const { transport, serve } = createKafka(settings)
      const open = () => ({ receive() {}, refuse() {}, finish: async () => {}, close: async () => {} })
      const carrier = serve({ open, origin: () => 'http://a.example', maxBytes: 1_000 })
      await carrier.listen()
      const names = {
        id: 'i1',
        requestId: 'r1',
        sessionId: 's1',
        operation: 'v1:a.b',
        encoding: 'json',
        sealed: false,
        claim: async () => true,
        owner: 'main|ada',
      }
      const place = await transport.place({ ...names, origin: 'http://a.example' })
      const channel = await place.open?.()
      if (!channel) throw new Error('Kafka opens its channels itself.')
      const reader = await readTopic(kafka.address, settings.topics.frames)
      return {
        channel,
        reader: {
          next: async () => (await reader.next())?.value,
          pause() {},
          resume() {},
          leave() {},
          ended: () => Promise.reject(new Error('The end of a stream is told in a reply.')),
        },
        async cleanup() {
          await carrier.close(0)
          await reader.close()
        },
      }
    },
    { knowsReader: false, tellsEnd: false },
  )
})

/** Reads a topic from its beginning. After `end`, it reads what is there and then nothing more. */
async function readTopic(address: string, topic: string) {
  const base = { clientId: 'reader', bootstrapBrokers: [address] }
  const consumer = new Consumer({ ...base, groupId: `reader-${topic}`, autocommit: false, maxWaitTime: 100 })
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest' })
  stream.on('error', () => {})
  const messages = stream[Symbol.asyncIterator]()
  let read = 0n
  let last: bigint | undefined
  let pending: Promise<IteratorResult<Message<Buffer, Buffer, Buffer, Buffer>>> | undefined
  const ended = Promise.withResolvers<void>()
  return {
    async next() {
      for (;;) {
        if (last !== undefined && read >= last) return undefined
        pending ??= messages.next()
        const result = await Promise.race([pending, ended.promise])
        if (!result) {
          if (last !== undefined && read < last) {
            const { value } = await pending
            pending = undefined
            read++
            return value
          }
          continue
        }
        pending = undefined
        read++
        return result.done ? undefined : result.value
      }
    },
    async end() {
      const offsets = await consumer.listOffsets({ topics: [topic], timestamp: -1n })
      last = offsets.get(topic)?.[0] ?? 0n
      ended.resolve()
    },
    close: () => consumer.close(true),
  }
}
