/**
 * The way back to the sender of a message: the topic that its header names, if that is allowed, or else the common one.
 * A message without a readable request id is put aside: no reader could match its reply.
 */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/ports/session.ts'
import type { Fate } from './outbox.ts'
import type { Publishing } from './publishing.ts'
import type { Received } from './received.ts'
import { ReplyAddress, type Settled, tooLarge } from './reply-address.ts'
import type { KafkaSettings } from './settings.ts'

const NO_HEADERS: Map<Buffer, Buffer> = new Map()

/** Replies go to the common topic, without a correlation header. */
const COMMON_PLACE: JsonObject = {}

/** Enough for every id. A larger one is the caller's data, which the server does not store for it. */
const MAX_PLACE_BYTES = 4_096

/** Brokers that are slower than this count as away. */
const LONGEST_MS = 20_000

export class Replies {
  readonly #settings: KafkaSettings
  readonly #publishing: Publishing
  readonly #replyTopicHeader: Buffer
  readonly #correlationHeader: Buffer
  putAside = 0

  constructor(settings: KafkaSettings, publishing: Publishing) {
    this.#settings = settings
    this.#publishing = publishing
    this.#replyTopicHeader = Buffer.from(settings.headers.replyTopic)
    this.#correlationHeader = Buffer.from(settings.headers.correlation)
  }

  addressOf(message: Received): ReplyAddress {
    const { topics, inPlaceOf } = this.#settings
    const wanted = message.header(this.#replyTopicHeader)?.toString()
    const correlation = message.header(this.#correlationHeader)
    const isAllowed = wanted === undefined || this.#allows(wanted)
    const topic = wanted !== undefined && isAllowed ? wanted : topics.replies
    const isOwn = topic !== topics.replies
    const headers = this.#headers(correlation)
    const refusal = isAllowed ? undefined : notAllowed(wanted)
    const place = placeOf(isOwn ? topic : undefined, correlation)
    return new ReplyAddress({ refusal, place, inPlaceOf }, (reply, about, settled) => {
      const value = bytesOf(reply)
      if (about === undefined && !correlation && !isOwn) return this.#putAside(message, value, settled)
      return this.#publishing.add({ topic, value, headers, settled, key: keyOf(about) })
    })
  }

  /** Publishes a reply to the address that was stored with its call. Resolves when the brokers have it. */
  async sendLate(
    { topic, correlation }: JsonObject,
    message: string,
    about: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { topics } = this.#settings
    const to = typeof topic === 'string' && this.#allows(topic) ? topic : topics.replies
    const headers = this.#headers(typeof correlation === 'string' ? Buffer.from(correlation, 'base64') : undefined)
    const { promise, resolve, reject } = Promise.withResolvers<Fate>()
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)])
    limit.addEventListener('abort', () => reject(away('No broker confirmed a message.')), { once: true })
    void this.#publishing.add({ topic: to, value: Buffer.from(message), headers, settled: resolve, key: keyOf(about) })
    const fate = await promise
    if (fate === 'unknown') throw away('The server is shutting down.')
    if (fate === 'too-large') throw tooLarge()
    if (fate === 'refused') throw refused(to)
  }

  #headers(correlation: Buffer | undefined): Map<Buffer, Buffer> {
    return correlation ? new Map([[this.#correlationHeader, correlation]]) : NO_HEADERS
  }

  #allows(topic: string): boolean {
    const { topics, replyTopics } = this.#settings
    if (topic === topics.replies) return true
    // A reply among the operations would come back as a message.
    if (topic === topics.operations) return false
    return replyTopics.some((allowed) =>
      allowed.endsWith('*') ? topic.startsWith(allowed.slice(0, -1)) : topic === allowed,
    )
  }

  #putAside(message: Received, refusal: Buffer, settled: Settled): void | Promise<void> {
    this.putAside++
    const { topics, headers: names, log } = this.#settings
    const { topic, partition, offset, key, value } = message
    const { deadLetters } = topics
    const to = deadLetters === undefined ? {} : { to: deadLetters }
    log.warn({ topic, partition, offset: String(offset), ...to }, 'put aside a message without a readable request id')
    if (deadLetters === undefined) return settled('refused')
    const headers = new Map(message.headers as [Buffer, Buffer][])
    headers.set(Buffer.from(names.refusal), refusal)
    return this.#publishing.add({
      topic: deadLetters,
      value: value ?? Buffer.alloc(0),
      headers,
      // Its reply has no reader.
      settled: (fate) => settled(fate === 'too-large' ? 'refused' : fate),
      key: key ?? undefined,
    })
  }
}

function placeOf(topic: string | undefined, correlation: Buffer | undefined): JsonObject | undefined {
  if (topic === undefined && !correlation) return COMMON_PLACE
  if ((correlation?.length ?? 0) > MAX_PLACE_BYTES) return undefined
  return {
    ...(topic !== undefined && { topic }),
    ...(correlation && { correlation: correlation.toString('base64') }),
  }
}

function keyOf(about: string | undefined): Buffer | undefined {
  return about === undefined ? undefined : Buffer.from(about)
}

function bytesOf(message: Message): Buffer {
  if (typeof message === 'string') return Buffer.from(message)
  return Buffer.from(message.buffer, message.byteOffset, message.byteLength)
}

export function away(detail: string): Fault {
  return new Fault('unavailable', `Kafka cannot be reached. ${detail}`)
}

function refused(topic: string): Fault {
  return new Fault('upstream', `Kafka refused a message to the topic "${topic}". The log has the reason.`, {
    retryable: false,
  })
}

function notAllowed(topic: string): Fault {
  return new Fault('forbidden', `Replies to the topic "${topic.slice(0, 64)}" are not allowed on this server.`, {
    code: 'REPLY_TOPIC_NOT_ALLOWED',
  })
}
