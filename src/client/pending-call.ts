/** A call that was written down and is sent in the same turn of the event loop. A promise of its result. */
import type { Calling, Ended } from './calling.ts'
import type { CallOptions, OutgoingCall } from './options.ts'
import type { Finish } from './run.ts'
import type { Call } from './types.ts'

export class PendingCall<Result> implements Call<Result> {
  readonly [Symbol.toStringTag] = 'Call'
  protected readonly calling: Calling
  protected readonly outgoing: OutgoingCall
  protected readonly options: CallOptions
  readonly #finish: Finish
  #ended: Promise<Ended> | undefined
  #result: Promise<Result> | undefined
  #isClaimed = false

  constructor(calling: Calling, finish: Finish, outgoing: OutgoingCall, options: CallOptions) {
    this.calling = calling
    this.outgoing = outgoing
    this.options = options
    this.#finish = finish
    // Not at once: a loop over frames or a download says first how it wants the call.
    queueMicrotask(() => {
      if (!this.#ended && !this.#isClaimed) void this.#settle()
    })
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  then<A = Result, B = never>(
    onResult?: ((result: Result) => A | PromiseLike<A>) | null,
    onFault?: ((fault: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#settle().then(onResult, onFault)
  }

  catch<B = never>(onFault?: ((fault: unknown) => B | PromiseLike<B>) | null): Promise<Result | B> {
    return this.#settle().catch(onFault)
  }

  finally(onEnd?: (() => void) | null): Promise<Result> {
    return this.#settle().finally(onEnd)
  }

  /** Sends the call once, and ends with its outcome turned into what the caller asked for. */
  protected end<T>(finish: (ended: Ended, signal: AbortSignal | undefined) => T | Promise<T>): Promise<T> {
    return this.calling.within(this.options, this.outgoing, async (signal) => {
      this.#ended ??= this.#run(signal)
      return finish(await this.#ended, signal)
    })
  }

  /** The call is sent in another way, so it is not sent by itself. */
  protected claim(): void {
    this.#isClaimed = true
  }

  async #run(signal: AbortSignal | undefined): Promise<Ended> {
    return this.calling.finish(await this.calling.send(this.outgoing, signal), signal)
  }

  #settle(): Promise<Result> {
    this.#result ??= this.end((ended, signal) => this.#finish(ended, this.calling, signal) as Promise<Result>)
    return this.#result
  }
}
