/** A handle of a call that goes on at the server: its id can be kept, and the call resumed later. */
import type { Calling, Ended } from './calling.ts'
import { withCall } from './judge.ts'
import type { CallOptions, Envelope, Progress } from './options.ts'
import type { Received } from './transport.ts'

type Waiting = Pick<CallOptions, 'signal' | 'timeoutMs'>

export interface Run<Result> {
  /** Keep it to resume the call: `api.resume(id)`. */
  readonly id: string
  /** The last state that this handle has seen. */
  readonly state: string
  /** Waits for the end. Survives lost connections. */
  result(options?: Waiting): Promise<Result>
  /** Every report of progress, until the call ends. A failure of the call is thrown by `result()` alone. */
  progress(options?: Waiting): AsyncIterable<Progress>
  /** Asks for the state now. */
  poll(options?: Waiting): Promise<Envelope>
  /** Asks the server to stop the call. */
  cancel(options?: Waiting): Promise<Envelope>
}

/** Turns the end of a call into what its caller gets. */
export type Finish = (ended: Ended, calling: Calling, signal: AbortSignal | undefined) => unknown

export class CallRun<Result> implements Run<Result> {
  readonly id: string
  readonly #operation: string
  readonly #calling: Calling
  readonly #finish: Finish
  #last: Received

  constructor(calling: Calling, finish: Finish, operation: string, first: Received) {
    this.#calling = calling
    this.#finish = finish
    this.#operation = operation
    this.#last = first
    this.id = first.envelope.requestId
  }

  get state(): string {
    return this.#last.envelope.state
  }

  result(options?: Waiting): Promise<Result> {
    return this.#within(options, async (signal) => {
      const ended = await this.#calling.finish(this.#last, signal, (now) => this.#note(now))
      return (await this.#finish(ended, this.#calling, signal)) as Result
    })
  }

  async *progress(options?: Waiting): AsyncIterable<Progress> {
    const limit = this.#calling.limit(options)
    let shown = ''
    try {
      for await (const { progress } of this.#calling.changes(this.#last, limit.signal)) {
        const text = JSON.stringify(progress)
        if (progress && text !== shown) yield progress
        shown = text
      }
    } catch (thrown) {
      throw withCall(thrown, this.#call)
    } finally {
      limit.end()
    }
  }

  poll(options?: Waiting): Promise<Envelope> {
    return this.#within(options, async (signal) =>
      this.#note((await this.#calling.transport.poll(this.id, signal)).envelope),
    )
  }

  cancel(options?: Waiting): Promise<Envelope> {
    return this.#within(options, async (signal) =>
      this.#note((await this.#calling.transport.cancel(this.id, signal)).envelope),
    )
  }

  get #call() {
    return { operation: this.#operation, context: { requestId: this.id } }
  }

  #note(envelope: Envelope): Envelope {
    this.#last = { envelope }
    return envelope
  }

  async #within<T>(options: Waiting | undefined, act: (signal: AbortSignal | undefined) => Promise<T>): Promise<T> {
    const limit = this.#calling.limit(options)
    try {
      return await act(limit.signal)
    } catch (thrown) {
      throw withCall(thrown, this.#call)
    } finally {
      limit.end()
    }
  }
}
