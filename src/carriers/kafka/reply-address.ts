/** The way back to the sender of one message. It knows whether its replies have reached the brokers. */
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Message } from '../../core/ports/session.ts'
import { OnTheirWay } from '../../wire/messages/on-their-way.ts'
import type { Fate } from './outbox.ts'

export type Settled = (fate: Fate) => void
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

  constructor({ refusal, place }: Pick<ReplyAddress, 'refusal' | 'place'>, publish: Publish) {
    this.refusal = refusal
    this.place = place
    this.#publish = publish
  }

  send(reply: Message, about: string | undefined): void | Promise<void> {
    this.#onTheirWay ??= new OnTheirWay()
    const onTheirWay = this.#onTheirWay
    this.#replied?.resolve()
    onTheirWay.sent()
    return this.#publish(reply, about, (fate) => onTheirWay.settled(fate !== 'unknown'))
  }

  /** True if the brokers have all replies so far, or have refused them. A promise while one is on its way. */
  flushed(): boolean | Promise<boolean> {
    return this.#onTheirWay?.flushed() ?? true
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
