/** The way back to the sender of one message. It knows whether its replies have reached the brokers. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Message } from '../../core/ports/session.ts'
import { OnTheirWay } from '../../wire/messages/on-their-way.ts'
import type { Fate } from './outbox.ts'

export type Settled = (fate: Fate) => void
/** The message in place of one that the brokers refuse, for this reason. */
export type InPlaceOf = (message: Message, why: Fault) => Message
type Publish = (reply: Message, about: string | undefined, settled: Settled) => void | Promise<void>

export class ReplyAddress {
  /** Set if the message names a topic that is not allowed. */
  readonly refusal: Fault | undefined
  /** The address as it is stored with a call. Absent if it is too large for that. */
  readonly place: JsonObject | undefined
  readonly #publish: Publish
  /** Created with the first reply. */
  #onTheirWay: OnTheirWay | undefined
  #replied: PromiseWithResolvers<void> | undefined
  readonly #inPlaceOf: InPlaceOf
  #hasRefused = false

  constructor(
    { refusal, place, inPlaceOf }: Pick<ReplyAddress, 'refusal' | 'place'> & { inPlaceOf: InPlaceOf },
    publish: Publish,
  ) {
    this.refusal = refusal
    this.place = place
    this.#inPlaceOf = inPlaceOf
    this.#publish = publish
  }

  send(reply: Message, about: string | undefined): void | Promise<void> {
    this.#onTheirWay ??= new OnTheirWay()
    const onTheirWay = this.#onTheirWay
    this.#replied?.resolve()
    onTheirWay.sent()
    return this.#publish(reply, about, (fate) => {
      if (fate === 'too-large') this.#replace(reply, about)
      onTheirWay.settled(fate !== 'unknown')
    })
  }

  /** Tells the sender once that it does not get a reply. */
  #replace(reply: Message, about: string | undefined): void {
    if (this.#hasRefused) return
    this.#hasRefused = true
    void this.send(this.#inPlaceOf(reply, tooLarge()), about)
  }

  /** True if the brokers have all replies so far, or have refused them. A promise while one is on its way. */
  flushed(): boolean | Promise<boolean> {
    return this.#onTheirWay?.flushed() ?? true
  }

  /** As `flushed`, without a promise. `told` may be called at once. */
  whenFlushed(told: (isKnown: boolean) => void): void {
    if (this.#onTheirWay) this.#onTheirWay.whenFlushed(told)
    else told(true)
  }

  /** The transport, with channels that open after the first reply: the reader learns the topic from it. */
  framesAfterReply(transport: StreamTransport): StreamTransport {
    return {
      name: transport.name,
      place: async (stream) => {
        const { open, ...place } = await transport.place(stream)
        return open ? { ...place, open: () => this.#firstReply().then(open) } : place
      },
    }
  }

  #firstReply(): Promise<void> {
    this.#replied ??= Promise.withResolvers()
    if (this.#onTheirWay) this.#replied.resolve()
    return this.#replied.promise
  }
}

export function tooLarge(): Fault {
  const message = 'The reply is larger than Kafka allows. Read it over HTTP, or in chunks.'
  return new Fault('overloaded', message, { code: 'RESPONSE_TOO_LARGE', retryable: false })
}
