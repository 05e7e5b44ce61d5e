/** A request that waits for its batch, and the shape that it shares with others. */
import type { Fault } from '../../../core/fault.ts'
import type { Session } from '../connect/session.ts'

export interface Item<V, R> {
  readonly value: V
  /** The answer to an earlier try was lost: it may have been committed. */
  readonly uncertain: boolean
  done(result: R): void
  fail(fault: Fault): void
}

export interface Shape<V, R> {
  /** Requests with the same key share a statement. */
  readonly key: string
  /** The highest number of requests in one batch. */
  readonly most: number
  /** Settles every item, or throws if the statement failed. */
  run(session: Session, items: readonly Item<V, R>[]): Promise<void>
  /** Called before the request is rejected. It saves a promise for each request. */
  failed?(value: V, fault: Fault): void
}

export interface Terms {
  /** Each at most once. The lane of a call is its id, and the one of a key its digits. */
  lanes?: readonly string[]
  /** The approximate size of its values. */
  bytes?: number
}

const NO_LANES: readonly string[] = []

// biome-ignore lint/suspicious/noExplicitAny: a queue holds requests of all shapes, and each shape knows its own types
export type AnyShape = Shape<any, any>

export class Request implements Item<unknown, unknown> {
  readonly value: unknown
  readonly shape: AnyShape
  readonly lanes: readonly string[]
  readonly bytes: number
  readonly order: number
  readonly #resolve: (result: unknown) => void
  readonly #reject: (fault: Fault) => void
  readonly #leave: (request: Request) => void
  /** The lanes in which another request is before it. */
  blockers = 0
  uncertain = false
  settled = false
  /** When the first answer was lost. */
  lostMs: number | undefined

  constructor(
    value: unknown,
    shape: AnyShape,
    { lanes = NO_LANES, bytes = 0 }: Terms,
    order: number,
    resolve: (result: unknown) => void,
    reject: (fault: Fault) => void,
    leave: (request: Request) => void,
  ) {
    this.value = value
    this.shape = shape
    this.lanes = lanes
    this.bytes = bytes
    this.order = order
    this.#resolve = resolve
    this.#reject = reject
    this.#leave = leave
  }

  done(result: unknown): void {
    if (this.settled) return
    this.settled = true
    this.#leave(this)
    this.#resolve(result)
  }

  fail(fault: Fault): void {
    if (this.settled) return
    this.settled = true
    this.#leave(this)
    this.shape.failed?.(this.value, fault)
    this.#reject(fault)
  }
}
