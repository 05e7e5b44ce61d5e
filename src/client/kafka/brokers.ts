/**
 * A client of Kafka's brokers: writes calls to the topic of operations, and reads the topic of replies from where it ends
 * before the first call.
 */
import type { BaseOptions } from '@platformatic/kafka'
import { KAFKA_HEADERS, KAFKA_TOPICS } from '../../protocols/opencall/kafka-topics.ts'
import { newId } from '../ids.ts'
import { packageMissing, unreachable } from '../messages/envelopes.ts'
import type { Link, LinkEvents, OpenLink } from '../messages/link.ts'
import { type Reading, type ReceivedRecord, readFromEnd } from './reading.ts'

export interface KafkaBrokersOptions {
  /** `host:port` of some brokers. */
  brokers: readonly string[]
  /** How brokers know this client (default: `callplane-client`). */
  clientId?: string
  /** As the server's (default: `callplane.ops`, `callplane.replies` and `callplane.frames`). */
  topics?: { operations?: string; replies?: string; frames?: string }
  /** A topic for the replies to this client alone, which the server must allow (its option `kafka.replyTopics`). */
  replyTopic?: string
  sasl?: { mechanism?: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; username: string; password: string }
  /** `true`, or PEM. */
  tls?: boolean | { ca?: string; cert?: string; key?: string; servername?: string }
}

/** The readings of one connection. */
interface Opened {
  readonly library: typeof import('@platformatic/kafka')
  readonly events: LinkEvents
  readonly readings: Reading[]
}

export class KafkaBrokers {
  readonly #options: KafkaBrokersOptions
  readonly #topics: { operations: string; replies: string; frames: string }
  /** Comes back with every reply to this client. */
  readonly #correlation = newId()
  /** True from the first stream on: frames of all streams are in one topic. */
  #readsFrames = false
  #current: Opened | undefined

  constructor(options: KafkaBrokersOptions) {
    this.#options = options
    this.#topics = { ...KAFKA_TOPICS, ...options.topics, ...(options.replyTopic && { replies: options.replyTopic }) }
  }

  readonly open: OpenLink = async (events) => {
    const library = await import('@platformatic/kafka').catch((cause) => {
      throw packageMissing('@platformatic/kafka', cause)
    })
    const opened: Opened = { library, events, readings: [] }
    try {
      await this.#readReplies(opened)
      if (this.#readsFrames) await this.#readFrames(opened)
    } catch (thrown) {
      for (const reading of opened.readings) reading.close()
      throw unreachable('Kafka cannot be reached, or lacks a topic.', thrown)
    }
    this.#current = opened
    return this.#linkOver(opened)
  }

  async listenToFrames(): Promise<Record<never, never>> {
    if (this.#readsFrames) return {}
    this.#readsFrames = true
    // Without a connection, the next one begins with the frames.
    if (this.#current) await this.#readFrames(this.#current)
    return {}
  }

  /** All callers share the topic of replies by default. */
  #readReplies(opened: Opened): Promise<void> {
    return this.#read(opened, this.#topics.replies, ({ value, header }) => {
      if (header(KAFKA_HEADERS.correlation) === this.#correlation) opened.events.message(value.toString())
    })
  }

  #readFrames(opened: Opened): Promise<void> {
    return this.#read(opened, this.#topics.frames, ({ key, value, header }) => {
      const stream = header(KAFKA_HEADERS.stream)
      if (stream !== undefined) opened.events.frame(stream, new Uint8Array(value), key)
    })
  }

  async #read(opened: Opened, topic: string, take: (record: ReceivedRecord) => void): Promise<void> {
    const { library, events, readings } = opened
    const lost = (why: string) => events.lost(`The connection to Kafka was lost: ${why}`)
    readings.push(await readFromEnd(library, this.#clientOptions(), topic, { take, lost }))
  }

  #linkOver({ library, events, readings }: Opened): Link {
    const producer = new library.Producer<Buffer, Buffer, Buffer, Buffer>(this.#clientOptions())
    const { replyTopic } = this.#options
    const headers = new Map([[Buffer.from(KAFKA_HEADERS.correlation), Buffer.from(this.#correlation)]])
    if (replyTopic !== undefined) headers.set(Buffer.from(KAFKA_HEADERS.replyTopic), Buffer.from(replyTopic))
    producer.on('error', (error) => events.lost(error.message))
    return {
      send: async ({ text, operation }) => {
        const { operations: topic } = this.#topics
        const message = { topic, key: Buffer.from(operation), value: Buffer.from(text), headers }
        try {
          await producer.send({ messages: [message], acks: -1 })
        } catch (thrown) {
          throw unreachable('Kafka did not take the call.', thrown)
        }
      },
      close: () => {
        this.#current = undefined
        for (const reading of readings) reading.close()
        producer.close(() => undefined)
      },
    }
  }

  #clientOptions(): BaseOptions {
    const { brokers, clientId = 'callplane-client', sasl, tls } = this.#options
    const { servername, ...pem } = typeof tls === 'object' ? tls : {}
    return {
      clientId,
      bootstrapBrokers: [...brokers],
      connectTimeout: 5_000,
      retries: 2,
      retryDelay: 250,
      ...(sasl && { sasl: { mechanism: 'SCRAM-SHA-512' as const, ...sasl } }),
      ...(tls && { tls: pem, tlsServerName: servername ?? true }),
    }
  }
}
