/** The streams that run on this node. */
import type { Instance, Outcome } from '../../core/call/instance.ts'
import type { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { StreamRules } from '../../core/operation/stream.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { StreamLimits } from '../limits/stream-limits.ts'
import { streamExpired } from './stream-ends.ts'
import { Subscription } from './subscription.ts'

interface Running {
  subscription: Subscription
  cancelExpiry(): void
}

export class Subscriptions {
  readonly #clock: Clock
  readonly #limits: StreamLimits
  readonly #running = new Map<string, Running>()

  constructor(clock: Clock, limits: StreamLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Call it before the handler starts. `stop` ends the attempt. */
  open(instance: Instance, operation: Operation, stop: (why: Fault) => void): Subscription {
    const { id, extras } = instance
    const { encoding = 'json', endsAt = 0 } = extras?.stream ?? {}
    const { overflow, track, writer } = operation.stream as StreamRules
    const subscription = new Subscription({
      clock: this.#clock,
      writer: writer(encoding),
      overflow,
      track: track !== undefined,
      paceMs: this.#limits.pace(instance),
      stop,
    })
    const leftMs = Math.max(0, endsAt - this.#clock.now())
    const cancelExpiry = this.#clock.schedule(leftMs, () => stop(streamExpired()))
    this.#running.set(id, { subscription, cancelExpiry })
    return subscription
  }

  get(id: string): Subscription | undefined {
    return this.#running.get(id)?.subscription
  }

  /** The outcome of a stream that is stopped for this reason. `undefined` if the call is not a stream of this node. */
  outcomeOf(id: string, why: Fault): Outcome | undefined {
    return this.get(id)?.outcomeOf(why)
  }

  /** The end of the stream is stored. */
  ended(id: string, outcome: Outcome): void {
    const running = this.#running.get(id)
    if (!running) return
    this.#running.delete(id)
    running.cancelExpiry()
    running.subscription.close(outcome)
  }

  /** Stops every stream of this node, for a shutdown. */
  stopAll(stop: (id: string) => void): void {
    for (const id of this.#running.keys()) stop(id)
  }
}
