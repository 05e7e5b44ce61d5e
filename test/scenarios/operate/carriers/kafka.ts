/** OpenCALL through Kafka, with a Python client as every caller. */
import { onTestFinished } from 'vitest'
import { type PeerMessage, startPeer } from '../../../carriers/kafka/peer.ts'
import { kafkaBroker, pythonClients, together } from '../../../engines/engines.ts'
import { type Kafka, startKafka } from '../../../engines/kafka.ts'
import { type Answered, authOf, type Carrier, envelopeWays, type Reached, unnamedWay } from './carrier.ts'

let kafka: Kafka | undefined
export const kafkaCarrier: Carrier = {
  engine: together(kafkaBroker, pythonClients),
  async start() {
    kafka = await startKafka()
    return kafka
  },
  prepare() {
    // Topics of its own for each server.
    const name = crypto.randomUUID()
    const topics = { operations: `ops-${name}`, replies: `replies-${name}`, frames: `frames-${name}` }
    const brokers = [kafka?.address ?? '']
    return {
      options: { kafka: { brokers, topics, group: name, createTopics: { partitions: 1 } } },
      reach: () => reach(topics),
    }
  },
}

async function reach(topics: Readonly<Record<'operations' | 'replies' | 'frames', string>>): Promise<Reached> {
  const { operations, replies, frames } = topics
  const peer = await startPeer(kafka?.address ?? '', [replies, frames])
  onTestFinished(() => peer[Symbol.asyncDispose]())
  const produce = async (text: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> => {
    const id = crypto.randomUUID()
    const answers = ({ headers: sent }: PeerMessage) => sent['correlation-id'] === id
    await peer.send(text, { topic: operations, headers: { ...headers, 'correlation-id': id } })
    return JSON.parse(String((await peer.find(answers)).value))
  }
  const send: Reached['send'] = (who, envelope) => produce(JSON.stringify({ ...envelope, auth: authOf(who) }))
  return {
    send,
    sendText: produce,
    ways: { ...envelopeWays(send), ...unnamedWay(send) },
    async watch(who, envelope) {
      const { stream } = await send(who, envelope)
      let read = 0
      const isFrame = ({ topic, headers }: PeerMessage) => topic === frames && headers['stream-id'] === stream?.streamId
      return {
        async next() {
          await peer.until(() => peer.received.filter(isFrame).length > read)
          return JSON.parse(String(peer.received.filter(isFrame)[read++]?.value))
        },
      }
    },
  }
}
