/** Publishes the responses of one session. */
import type { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Message } from '../../core/ports/session.ts'
import { OnTheirWay } from '../../wire/messages/on-their-way.ts'
import { isLargerThan } from '../../wire/messages/text.ts'
import type { Broker } from './broker.ts'
import { tooLarge } from './late.ts'
import type { ReplyAddress } from './reply-address.ts'

export interface RepliesParts {
  broker: Broker
  address: ReplyAddress
  log: Log
  /** Tells the peer that its response cannot be sent. */
  refuse(fault: Fault): void
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
    const { correlationData } = address
    const topic = address.topic(about)
    if (topic === undefined) {
      log.warn({}, 'a response has no topic, because its message named none')
      return
    }
    // The broker would end the connection, and would get the same message after each reconnect.
    if (isLargerThan(message, broker.maxMessageBytes)) return this.#refuse(topic)
    this.#onTheirWay ??= new OnTheirWay()
    const onTheirWay = this.#onTheirWay
    onTheirWay.sent()
    const settled = (isKnown: boolean) => onTheirWay.settled(isKnown)
    const sending = broker.publish(topic, message, { qos: 1, settled, ...(correlationData && { correlationData }) })
    return sending ? sending.then(() => this.#sent()) : this.#sent()
  }

  #sent(): void {
    this.#hasSent = true
    this.#first?.resolve()
  }

  #refuse(topic: string): void {
    const { log, broker, refuse } = this.#parts
    log.warn({ topic, maxBytes: broker.maxMessageBytes }, 'a response is larger than the MQTT broker allows')
    if (this.#hasRefused) return
    this.#hasRefused = true
    refuse(tooLarge())
  }
}
