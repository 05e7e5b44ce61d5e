/** The load's Kafka client. It sends the messages of one turn together. */
import { Consumer, type ProduceAcks, Producer } from '@platformatic/kafka'
import type { BrokerLine } from './broker-load.ts'
import { type BrokerPlace, kafkaTopics } from './contenders/brokers.ts'

const LEADER_ONLY: typeof ProduceAcks.LEADER = 1

export async function openKafkaLine(broker: BrokerPlace): Promise<BrokerLine> {
  const topics = kafkaTopics(broker)
  const client = { clientId: `load-${broker.prefix}`, bootstrapBrokers: [`127.0.0.1:${broker.port}`] }
  const producer = new Producer({ ...client, acks: LEADER_ONLY })
  const consumer = new Consumer({ ...client, groupId: client.clientId, autocommit: false, maxWaitTime: 1_000 })
  const stream = await consumer.consume({ topics: [topics.replies], mode: 'latest' })
  let waiting: { topic: string; key: Buffer; value: Buffer }[] = []
  const line: BrokerLine = {
    operation: '',
    receive: () => {},
    send(text) {
      if (waiting.length === 0) setImmediate(sendAll)
      waiting.push({ topic: topics.operations, key: Buffer.from(line.operation), value: Buffer.from(text) })
    },
    async close() {
      await consumer.close(true)
      await producer.close()
    },
  }
  function sendAll(): void {
    const messages = waiting
    waiting = []
    producer.send({ messages }).catch((thrown: unknown) => {
      throw thrown
    })
  }
  stream.on('data', ({ value }) => line.receive(value.toString()))
  return line
}
