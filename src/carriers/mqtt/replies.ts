/** Publishes the responses of one session. */
import type { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Message } from '../../core/ports/session.ts'
import { OnTheirWay } from '../../wire/messages/on-their-way.ts'
import { isLargerThan } from '../../wire/messages/text.ts'
import type { Broker } from './broker.ts'
import { refusalOf, tooLarge } from './late.ts'
import { namesBytesOf, type ReplyAddress } from './reply-address.ts'

export interface RepliesParts {
  broker: Broker
  address: ReplyAddress
  log: Log
  /** The message in place of one that cannot be sent, for this reason. */
  inPlaceOf(message: Message, why: Fault): Message
}

export class Replies {
  readonly #parts: RepliesParts
  /** Created with the first response. */
  #onTheirWay: OnTheirWay | undefined
  /** Created when it is first asked for: only streams wait for it. */
  #first: PromiseWithResolvers<void> | undefined
  #hasSent = false
  #hasRefused = false

  constructor(parts: RepliesParts) {
    this.#parts = parts
  }

  /** Resolves when the first response is on its way. */
  get first(): Promise<void> {
    this.#first ??= Promise.withResolvers()
    if (this.#hasSent) this.#first.resolve()
    return this.#first.promise
  }

  /** True if the broker has all responses so far, or has refused them. */
  flushed(): boolean | Promise<boolean> {
    return this.#onTheirWay?.flushed() ?? true
  }

  send(message: Message, about: string | undefined): void | Promise<void> {
    const { broker, address, log } = this.#parts
    const topic = address.topic(about)
    if (topic === undefined) {
      log.warn({}, 'a response has no topic, because its message named none')
      return
    }
    // The broker would end the connection.
    const maxBytes = broker.maxPayloadBytes(namesBytesOf(topic, address))
    if (isLargerThan(message, maxBytes)) {
      log.warn({ topic, maxBytes }, 'a response is larger than the MQTT broker allows')
      return this.#refuse(topic, message, tooLarge())
    }
    return this.#publish(topic, message)
  }

  #publish(topic: string, message: Message): void | Promise<void> {
    const { broker, address } = this.#parts
    const { correlationData } = address
    this.#onTheirWay ??= new OnTheirWay()
    const onTheirWay = this.#onTheirWay
    onTheirWay.sent()
    const settled = (isKnown: boolean, refusal?: Error) => {
      if (isKnown && refusal) void this.#refuse(topic, message, refusalOf(refusal))
      onTheirWay.settled(isKnown)
    }
    const sending = broker.publish(topic, message, { qos: 1, settled, ...(correlationData && { correlationData }) })
    return sending ? sending.then(() => this.#sent()) : this.#sent()
  }

  #sent(): void {
    this.#hasSent = true
    this.#first?.resolve()
  }

  /** Tells the peer once. If that is refused, too, there is no further message. */
  #refuse(topic: string, message: Message, why: Fault): void | Promise<void> {
    if (this.#hasRefused) return
    this.#hasRefused = true
    return this.#publish(topic, this.#parts.inPlaceOf(message, why))
  }
}
