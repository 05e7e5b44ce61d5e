/** The way back to the sender of one message. It knows whether its replies have reached the brokers. */
import type { Fault } from '../../core/fault.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { Message } from '../../core/ports/session.ts'

export type Settled = (isDone: boolean) => void
type Publish = (reply: Message, about: string | undefined, settled: Settled) => void | Promise<void>

export class ReplyAddress {
  /** Set if the message names a topic that is not allowed. */
  readonly refusal: Fault | undefined
  readonly #publish: Publish
  #underWay = 0
  #isDone = true
  #settled: PromiseWithResolvers<boolean> | undefined
  #hasReplied = false
  #replied: PromiseWithResolvers<void> | undefined

  constructor(refusal: Fault | undefined, publish: Publish) {
    this.refusal = refusal
    this.#publish = publish
  }

  send(reply: Message, about: string | undefined): void | Promise<void> {
    this.#hasReplied = true
    this.#replied?.resolve()
    this.#underWay++
    return this.#publish(reply, about, (isDone) => this.#settle(isDone))
  }

  /** Resolves when no reply is under way. True if the brokers have all of them, or refuse them. */
  published(): true | Promise<boolean> {
    if (this.#underWay === 0 && this.#isDone) return true
    this.#settled ??= Promise.withResolvers()
    if (this.#underWay === 0) this.#settled.resolve(false)
    return this.#settled.promise
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

  #settle(isDone: boolean): void {
    if (!isDone) this.#isDone = false
    if (--this.#underWay === 0) this.#settled?.resolve(this.#isDone)
  }

  #firstReply(): Promise<void> {
    this.#replied ??= Promise.withResolvers()
    if (this.#hasReplied) this.#replied.resolve()
    return this.#replied.promise
  }
}
