/**
 * Messages from a broker. Each message has its own session, because it has its own address for responses. It is
 * acknowledged when the session allows it, and offered again while the session cannot process it. The topics are data
 * of the protocol.
 */
import type { Fault } from '../../core/fault.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Message, OpenSession } from '../../core/ports/session.ts'
import { Link, type MessageLimits } from '../../wire/messages/link.ts'
import { isLargerThan } from '../../wire/messages/text.ts'
import type { Broker } from './broker.ts'
import type { Delivery } from './delivery.ts'
import type { MqttFrames } from './frames.ts'
import { Replies } from './replies.ts'
import { type ReplyTopics, replyAddress } from './reply-address.ts'

export interface MqttCarrierOptions {
  /** The carrier in the addresses that are stored with calls. */
  name: string
  broker: Broker
  frames: MqttFrames
  open: OpenSession
  origin: () => string
  topics: ReplyTopics & {
    /** The subject that a request topic names. */
    subject(topic: string): string
  }
  /** The message in place of one that the broker refuses, for this reason. */
  inPlaceOf(message: Message, why: Fault): Message
  limits: MessageLimits
  clock: Clock
  log: Log
}

const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 30_000
/** How long the last responses may take after the sessions have closed. */
const FLUSH_MS = 2_000
/** The broker authenticates connections. A session authenticates each message by its credential. */
const NOBODY = { header: () => undefined }

export function createMqttCarrier(options: MqttCarrierOptions): Carrier {
  const deliveries = new Deliveries(options)
  return {
    listen: () => options.broker.connect(options.limits.maxBytes, (delivery) => deliveries.take(delivery)),
    close: (graceMs) => deliveries.close(graceMs),
  }
}

class Deliveries {
  readonly #options: MqttCarrierOptions
  readonly #links = new Set<Link>()
  /**
   * Messages of QoS 1 above the limit. MQTT 5 brokers send none; with MQTT 3.1.1 the broker's own limit bounds them.
   */
  readonly #waiting: Delivery[] = []
  readonly #retries = new Set<() => void>()
  #inFlight = 0
  #dropped = 0
  #closing = false

  constructor(options: MqttCarrierOptions) {
    this.#options = options
  }

  take(delivery: Delivery): void {
    // The broker delivers it again after the next start.
    if (this.#closing) return
    if (delivery.retained) delivery.acknowledge()
    else if (this.#inFlight < this.#options.limits.maxInFlight) this.#serve(delivery, FIRST_RETRY_MS)
    else if (delivery.assured) this.#waiting.push(delivery)
    else this.#drop()
  }

  #drop(): void {
    if (this.#dropped++ % 1_000 > 0) return
    this.#options.log.warn({ dropped: this.#dropped }, 'too many messages at once; those of QoS 0 are dropped')
  }

  /** Ends sessions after their last response, or after the grace period. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true
    this.#waiting.length = 0
    for (const cancel of this.#retries) cancel()
    const { broker, frames } = this.#options
    const cut = new AbortController()
    const grace = Promise.withResolvers<void>()
    const timer = setTimeout(grace.resolve, graceMs)
    await Promise.race([Promise.all([...this.#links].map((link) => link.finish())), grace.promise])
    clearTimeout(timer)
    const flush = setTimeout(() => cut.abort(), FLUSH_MS)
    await Promise.all([...this.#links].map((link) => link.close(cut.signal)))
    clearTimeout(flush)
    frames.close()
    await broker.close(FLUSH_MS)
  }

  #serve(delivery: Delivery, retryMs: number): void {
    const { link, taking } = this.#receive(delivery)
    if (typeof taking === 'boolean') {
      this.#settle(delivery, link, taking, retryMs)
      return
    }
    this.#inFlight++
    this.#links.add(link)
    void taking.then((isTaken) => {
      this.#inFlight--
      this.#settle(delivery, link, isTaken, retryMs)
      this.#next()
    })
  }

  #settle(delivery: Delivery, link: Link, isTaken: boolean, retryMs: number): void {
    if (isTaken) delivery.acknowledge()
    else if (delivery.assured) this.#retry(delivery, retryMs)
    const ending = link.end()
    if (!ending) return void this.#links.delete(link)
    this.#links.add(link)
    void ending.then(() => this.#links.delete(link))
  }

  #receive(delivery: Delivery): { link: Link; taking: boolean | Promise<boolean> } {
    const { name, broker, frames, open, origin, topics, inPlaceOf, limits, log } = this.#options
    const { payload, topic, assured } = delivery
    const address = replyAddress(delivery, topics)
    const replies = new Replies({ broker, address, log, inPlaceOf })
    const link = new Link({
      open,
      peer: NOBODY,
      origin: origin(),
      limits,
      log,
      subject: topics.subject(topic),
      lossy: !assured,
      frames: afterReply(frames, replies),
      transmit: (message, about) => replies.send(message, about),
      flushed: () => replies.flushed(),
      replyTo: address.place && { carrier: name, place: address.place },
    })
    const refused = isLargerThan(payload, limits.maxBytes) ? undefined : address.refused
    return { link, taking: refused ? link.refuse(refused, payload) : link.receive(payload) }
  }

  /** A broker offers a message again only after a reconnect. */
  #retry(delivery: Delivery, retryMs: number): void {
    if (this.#closing) return
    const cancel = this.#options.clock.schedule(retryMs, () => {
      this.#retries.delete(cancel)
      this.#serve(delivery, Math.min(retryMs * 2, LONGEST_RETRY_MS))
    })
    this.#retries.add(cancel)
  }

  #next(): void {
    while (this.#inFlight < this.#options.limits.maxInFlight) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#serve(next, FIRST_RETRY_MS)
    }
  }
}

/** The reader learns the topic from the response, so the first frame leaves after it. */
function afterReply(frames: StreamTransport, replies: Replies): StreamTransport {
  return {
    name: frames.name,
    async place(stream) {
      const place = await frames.place(stream)
      const { open } = place
      return { ...place, ...(open && { open: () => replies.first.then(open) }) }
    },
  }
}
