/** Offers each message to a session of its own, until one takes it. Knows the sessions that are still open. */
import type { ReplyAddress as StoredAddress } from '../../core/call/reply-address.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Presented } from '../../core/ports/guard.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Message, OpenSession } from '../../core/ports/session.ts'
import { Link, type LinkParts, type MessageLimits } from '../../wire/messages/link.ts'
import { delay } from './outbox.ts'
import type { Received } from './received.ts'
import type { Replies } from './replies.ts'
import type { ReplyAddress } from './reply-address.ts'

export interface DeliveryParts {
  /** The carrier in the addresses that are stored with calls. */
  name: string
  open: OpenSession
  origin(): string
  transport: StreamTransport
  replies: Replies
  limits: MessageLimits
  log: Log
  /** Aborts when the carrier closes. */
  signal: AbortSignal
}

const NO_PEER: Presented = { header: () => undefined }
const NOTHING = Buffer.alloc(0)
/** If the session cannot take a message now, it gets the message again after this time, then after longer times. */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 30_000

export class Deliveries {
  readonly #parts: DeliveryParts
  readonly #links = new Set<Link>()
  received = 0

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** `done` gets true when the offset of the message may be committed. */
  take(message: Received, done: (isTaken: boolean) => void): void {
    this.received++
    const address = this.#parts.replies.addressOf(message)
    const link = new Link(new Delivery(this.#parts, address))
    const taking = offer(message, address, link)
    if (taking !== true) {
      void this.#takeLater(taking, message, address, link).then(done)
      return
    }
    this.#leave(link)
    // Offsets are committed over another connection, so the commit could overtake the reply.
    address.whenFlushed(done)
  }

  /** Resolves after the last response to the messages so far. */
  async finish(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.finish()))
  }

  async close(cut: AbortSignal): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.close(cut)))
  }

  /** Offers the message again while the session cannot take it. */
  async #takeLater(
    first: boolean | Promise<boolean>,
    message: Received,
    address: ReplyAddress,
    link: Link,
  ): Promise<boolean> {
    const { signal } = this.#parts
    this.#links.add(link)
    let isTaken = await first
    for (let waitMs = FIRST_RETRY_MS; !isTaken && !signal.aborted; waitMs *= 2) {
      await delay(Math.min(waitMs, LAST_RETRY_MS), signal)
      if (!signal.aborted) isTaken = await offer(message, address, link)
    }
    this.#leave(link)
    return isTaken && address.flushed()
  }

  #leave(link: Link): void {
    const ending = link.end()
    if (!ending) {
      this.#links.delete(link)
      return
    }
    this.#links.add(link)
    void ending.then(() => this.#links.delete(link))
  }
}

/** One message as a connection. A class, because closures and copies for each message took part of a small call. */
class Delivery implements LinkParts {
  readonly #parts: DeliveryParts
  readonly #address: ReplyAddress

  constructor(parts: DeliveryParts, address: ReplyAddress) {
    this.#parts = parts
    this.#address = address
  }

  get open(): OpenSession {
    return this.#parts.open
  }

  get peer(): Presented {
    return NO_PEER
  }

  get origin(): string {
    return this.#parts.origin()
  }

  get limits(): MessageLimits {
    return this.#parts.limits
  }

  get log(): Log {
    return this.#parts.log
  }

  get frames(): StreamTransport {
    return this.#address.framesAfterReply(this.#parts.transport)
  }

  get replyTo(): StoredAddress | undefined {
    const { place } = this.#address
    return place && { carrier: this.#parts.name, place }
  }

  transmit(reply: Message, about?: string): void | Promise<void> {
    return this.#address.send(reply, about)
  }

  flushed(): boolean | Promise<boolean> {
    return this.#address.flushed()
  }
}

function offer(message: Received, address: ReplyAddress, link: Link): boolean | Promise<boolean> {
  const value = message.value ?? NOTHING
  if (address.refusal) return link.refuse(address.refusal, value)
  return link.receive(value, () => idOf(message))
}

/** The same for each delivery. The time distinguishes messages of a topic that was removed and created again. */
function idOf({ topic, partition, offset, timestamp }: Received): string {
  return `${topic.slice(0, 64)}:${partition}:${offset}:${timestamp}`
}
