/** `callplane/client/kafka`: calls and streams through Kafka, from Node, with the package `@platformatic/kafka`. */
import { createHttpTransport } from '../full-http.ts'
import { MessageTransport } from '../messages/message-transport.ts'
import type { HttpOptions } from '../options.ts'
import type { Transport } from '../transport.ts'
import { KafkaBrokers, type KafkaBrokersOptions } from './brokers.ts'

export interface KafkaClientOptions extends KafkaBrokersOptions {
  /** Sent with every call: Kafka does not tell the server who wrote a message. */
  token?: HttpOptions['token']
  /** The address of the server over HTTP, for files and for results that are larger than a message. */
  http?: Pick<HttpOptions, 'url' | 'token' | 'headers' | 'trustedOrigins' | 'fetch'>
}

export function kafkaTransport(options: KafkaClientOptions): Transport {
  const brokers = new KafkaBrokers(options)
  return new MessageTransport({
    open: brokers.open,
    prepareStream: () => brokers.listenToFrames(),
    frameKey: ({ streamId }) => String(streamId),
    hasEarlyFrames: true,
    token: options.token,
    showsTokenAlways: true,
    expectsAnswers: false,
    // Replies and frames are in different topics, which have no common order.
    endCanOvertake: true,
    http: options.http && createHttpTransport(options.http),
  })
}
