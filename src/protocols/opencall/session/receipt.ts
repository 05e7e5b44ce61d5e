/**
 * What is known of one message while it is handled. It is also the options of its call: one object, because a broker's
 * carrier has a session for each message.
 */
import type { Caller } from '../../../core/call/caller.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { CallOptions, Client, OwedReply, ReadWish } from '../../../core/ports/calls.ts'
import type { Identify } from '../../../core/ports/guard.ts'

export class Receipt implements CallOptions {
  readonly client: Client
  readonly stream: ReadWish
  readonly redelivers: boolean
  readonly hold = true
  sent: JsonValue = null
  /** Known when the call is admitted. */
  caller: Caller | undefined
  isRecorded = false
  /** Set while the carrier waits for the acknowledgement. */
  taken: (() => void) | undefined
  /** Set if the peer can be reached after the connection is gone. */
  owed: OwedReply | undefined

  constructor(client: Client, stream: ReadWish, redelivers: boolean) {
    this.client = client
    this.stream = stream
    this.redelivers = redelivers
  }

  readonly recorded = (): void => {
    this.isRecorded = true
    this.taken?.()
  }

  /** Remembers the caller, for the later states of the call. */
  identify(identify: Identify): Caller | undefined | Promise<Caller | undefined> {
    const identified = identify()
    if (identified instanceof Promise) return identified.then((caller) => this.#remember(caller))
    return this.#remember(identified)
  }

  #remember(caller: Caller | undefined): Caller | undefined {
    this.caller = caller
    return caller
  }
}
