/** `callplane/client/kafka`: calls and streams through Kafka, from Node, with the package `@platformatic/kafka`. */
import { type BrokerOptions, brokerParts } from '../messages/broker-options.ts'
import { MessageTransport } from '../messages/message-transport.ts'
import type { Transport } from '../transport.ts'
import { KafkaBrokers, type KafkaBrokersOptions } from './brokers.ts'

export interface KafkaClientOptions extends KafkaBrokersOptions, BrokerOptions {}

export function kafkaTransport(options: KafkaClientOptions): Transport {
  const brokers = new KafkaBrokers(options)
  return new MessageTransport({
    ...brokerParts(options),
    open: brokers.open,
    prepareStream: () => brokers.listenToFrames(),
    frameKey: ({ streamId }) => String(streamId),
    // Replies and frames are in different topics, which have no common order.
    endCanOvertake: true,
  })
}
