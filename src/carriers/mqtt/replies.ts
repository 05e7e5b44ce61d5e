/** Publishes the responses of one session. */
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Message } from '../../core/ports/session.ts'
import { isLargerThan } from '../../wire/messages/text.ts'
import type { Broker } from './broker.ts'
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
  readonly #first = Promise.withResolvers<void>()
  #hasRefused = false

  constructor(parts: RepliesParts) {
    this.#parts = parts
  }

  /** Resolves when the first response is on its way. */
  get first(): Promise<void> {
    return this.#first.promise
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
    const sending = broker.publish(topic, message, { qos: 1, ...(correlationData && { correlationData }) })
    if (!sending) return this.#first.resolve()
    return sending.then(() => this.#first.resolve())
  }

  #refuse(topic: string): void {
    const { log, broker, refuse } = this.#parts
    log.warn({ topic, maxBytes: broker.maxMessageBytes }, 'a response is larger than the MQTT broker allows')
    if (this.#hasRefused) return
    this.#hasRefused = true
    const message = 'The response is larger than the broker allows. Read it over HTTP, or in chunks.'
    refuse(new Fault('overloaded', message, { code: 'RESPONSE_TOO_LARGE' }))
  }
}
