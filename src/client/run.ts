/** A handle of a call that goes on at the server: its id can be kept, and the call resumed later. */
import type { Calling, Ended } from './calling.ts'
import { faultOf } from './judge.ts'
import type { CallOptions, Envelope } from './options.ts'
import type { Received } from './transport.ts'

export type Waiting = Pick<CallOptions, 'signal' | 'timeoutMs'>

export interface Run<Result> {
  /** Keep it to resume the call: `api.resume(id)`. */
  readonly id: string
  /** The last state that this handle has seen. */
  readonly state: string
  /** Waits for the end. Survives lost connections. */
  result(options?: Waiting): Promise<Result>
  /** Asks for the state now. */
  poll(options?: Waiting): Promise<Envelope>
  /** Asks the server to stop the call. */
  cancel(options?: Waiting): Promise<Envelope>
}

/** Turns the end of a call into what its caller gets. */
export type Finish = (ended: Ended, calling: Calling, signal: AbortSignal | undefined) => unknown

export class CallRun<Result> implements Run<Result> {
  readonly id: string
  protected readonly calling: Calling
  protected last: Received
  readonly #operation: string
  readonly #finish: Finish

  constructor(calling: Calling, finish: Finish, operation: string, first: Received) {
    this.calling = calling
    this.#finish = finish
    this.#operation = operation
    this.last = first
    this.id = first.envelope.requestId
  }

  get state(): string {
    return this.last.envelope.state
  }

  result(options?: Waiting): Promise<Result> {
    return this.calling.within(options, this.call, async (signal) => {
      const ended = await this.calling.finish(this.last, signal, (now) => {
        this.last = now
      })
      return (await this.#finish(ended, this.calling, signal)) as Result
    })
  }

  poll(options?: Waiting): Promise<Envelope> {
    return this.#ask('poll', options)
  }

  cancel(options?: Waiting): Promise<Envelope> {
    return this.#ask('cancel', options)
  }

  protected get call() {
    return { operation: this.#operation, context: { requestId: this.id } }
  }

  #ask(what: 'poll' | 'cancel', options: Waiting | undefined): Promise<Envelope> {
    return this.calling.within(options, this.call, async (signal) => {
      const received = await this.calling.transport[what](this.id, signal)
      // The request was refused, which says nothing of the call.
      if ((received.status ?? 0) >= 400) throw faultOf(received)
      this.last = received
      return received.envelope
    })
  }
}
