/**
 * The way back to the sender of a message: the topic that its header names, if that is allowed, or else the common one.
 * A message without a readable request id is put aside: no reader could match its reply.
 */
import { Fault } from '../../core/fault.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Message } from '../../core/ports/session.ts'
import type { Received } from './consuming.ts'
import type { Publishing } from './publishing.ts'
import type { KafkaSettings } from './settings.ts'

export interface ReplyAddress {
  /** Set if the message names a topic that is not allowed. */
  readonly refusal: Fault | undefined
  readonly send: (message: Message, about?: string) => void | Promise<void>
  /** The transport, with channels that open after the first reply. */
  framesAfterReply(transport: StreamTransport): StreamTransport
}

export class Replies {
  readonly #settings: KafkaSettings
  readonly #publishing: Publishing
  putAside = 0

  constructor(settings: KafkaSettings, publishing: Publishing) {
    this.#settings = settings
    this.#publishing = publishing
  }

  addressOf(message: Received): ReplyAddress {
    const { topics, headers: names } = this.#settings
    const wanted = headerOf(message, names.replyTopic)?.toString()
    const correlation = headerOf(message, names.correlation)
    const isAllowed = wanted === undefined || this.#allows(wanted)
    const topic = wanted !== undefined && isAllowed ? wanted : topics.replies
    const isOwn = topic !== topics.replies
    const headers = new Map(correlation ? [[Buffer.from(names.correlation), correlation]] : [])
    const replied = Promise.withResolvers<void>()
    return {
      refusal: isAllowed ? undefined : notAllowed(wanted),
      send: (reply, about) => {
        replied.resolve()
        const value = bytesOf(reply)
        if (about === undefined && !correlation && !isOwn) return this.#putAside(message, value)
        return this.#publishing.add(topic, { value, headers, ...(about !== undefined && { key: Buffer.from(about) }) })
      },
      framesAfterReply: (transport) => ({
        name: transport.name,
        async place(stream) {
          const { open, ...place } = await transport.place(stream)
          return open ? { ...place, open: () => replied.promise.then(open) } : place
        },
      }),
    }
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

  #putAside(message: Received, refusal: Buffer): void | Promise<void> {
    this.putAside++
    const { topics, headers: names, log } = this.#settings
    const { topic, partition, offset, key, value } = message
    const { deadLetters } = topics
    const to = deadLetters === undefined ? {} : { to: deadLetters }
    log.warn({ topic, partition, offset: String(offset), ...to }, 'put aside a message without a readable request id')
    if (deadLetters === undefined) return
    const headers = new Map([...message.headers, [Buffer.from(names.refusal), refusal]])
    return this.#publishing.add(deadLetters, { value: value ?? Buffer.alloc(0), headers, ...(key && { key }) })
  }
}

function headerOf({ headers }: Received, name: string): Buffer | undefined {
  for (const [key, value] of headers) if (key?.toString() === name) return value
  return undefined
}

function bytesOf(message: Message): Buffer {
  if (typeof message === 'string') return Buffer.from(message)
  return Buffer.from(message.buffer, message.byteOffset, message.byteLength)
}

function notAllowed(topic: string): Fault {
  return new Fault('forbidden', `Replies to the topic "${topic.slice(0, 64)}" are not allowed on this server.`, {
    code: 'REPLY_TOPIC_NOT_ALLOWED',
  })
}
