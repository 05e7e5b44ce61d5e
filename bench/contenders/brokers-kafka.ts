/**
 * The limit for calls over Kafka: a bare client that only echoes, on the library that our server uses. It reads as a
 * member of a group, sends the replies of one turn together, and commits ten times a second what it has replied to.
 */
import { Consumer, compatibilityPartitioner, Producer } from '@platformatic/kafka'
import { kafkaTopics, openEcho } from './brokers.ts'
import type { Contender } from './contender.ts'

const COMMIT_EVERY_MS = 100

interface Reply {
  topic: string
  key: Buffer
  value: Buffer
  offset: bigint
}

export const start: Contender = async ({ data, broker }) => {
  if (data === undefined || !broker) throw new Error('Give this contender a data folder and a broker.')
  const topics = kafkaTopics(broker)
  const echo = await openEcho(data)
  const client = { clientId: broker.prefix, bootstrapBrokers: [`127.0.0.1:${broker.port}`] }
  const producer = new Producer({ ...client, idempotent: true, partitioner: compatibilityPartitioner })
  const consumer = new Consumer({ ...client, groupId: broker.prefix, autocommit: false, maxWaitTime: 1_000 })
  const stream = await consumer.consume({
    topics: [topics.operations],
    mode: 'committed',
    fallbackMode: 'earliest',
  })
  let waiting: Reply[] = []
  let isSending = false
  let next: bigint | undefined

  async function sendAll(): Promise<void> {
    isSending = true
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const replies = waiting
      waiting = []
      await producer.send({ messages: replies })
      // The topic has one partition, and the echo replies in its order.
      next = (replies.at(-1) as Reply).offset + 1n
    }
    isSending = false
  }

  stream.on('data', ({ value, offset }) => {
    echo.take(value.toString(), (requestId, text) => {
      waiting.push({ topic: topics.replies, key: Buffer.from(requestId), value: Buffer.from(text), offset })
      if (!isSending) void sendAll()
    })
  })
  const timer = setInterval(() => {
    if (next === undefined) return
    const offsets = [{ topic: topics.operations, partition: 0, offset: next, leaderEpoch: 0 }]
    next = undefined
    void consumer.commit({ offsets })
  }, COMMIT_EVERY_MS)
  return {
    port: broker.port,
    async close() {
      clearInterval(timer)
      await consumer.close(true)
      await producer.close()
      echo.close()
    },
  }
}
