/** The streams that run on this node. */
import type { Instance, Outcome } from '../../core/call/instance.ts'
import type { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { StreamRules } from '../../core/operation/stream.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { StreamLimits } from '../limits/stream-limits.ts'
import type { Worker } from '../run/worker.ts'
import { EndedStreams } from './ended-streams.ts'
import { streamExpired } from './stream-ends.ts'
import { Subscription } from './subscription.ts'

interface Running {
  subscription: Subscription
  cancelExpiry(): void
  leavePace(): void
}

export class Subscriptions {
  readonly #clock: Clock
  readonly #limits: StreamLimits
  readonly #running = new Map<string, Running>()
  readonly #ended: EndedStreams
  #stopping: Fault | undefined

  constructor(clock: Clock, limits: StreamLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#ended = new EndedStreams(clock)
  }

  /**
   * Runs a stream on this node, under a lease that this node holds. `connect` may attach the first reader: it is called
   * before the handler starts, so that no frame comes too early.
   */
  start(
    worker: Pick<Worker, 'start' | 'stopAttempt'>,
    instance: Instance,
    operation: Operation,
    connect: (subscription: Subscription) => void,
    args?: { parsed: unknown },
  ): void {
    const stop = (why: Fault) => void worker.stopAttempt(instance.id, why)
    connect(this.#open(instance, operation, stop))
    worker.start(instance, operation, args)
    if (this.#stopping) stop(this.#stopping)
  }

  #open(instance: Instance, operation: Operation, stop: (why: Fault) => void): Subscription {
    const { id, extras } = instance
    const { encoding = 'json', endsAt = 0 } = extras?.stream ?? {}
    const { overflow, track, writer } = operation.stream as StreamRules
    const pace = this.#limits.pace(instance)
    const subscription = new Subscription({
      clock: this.#clock,
      writer: writer(encoding),
      overflow,
      track: track !== undefined,
      paceMs: pace.afterMs,
      stop,
    })
    const running: Running = { subscription, cancelExpiry: () => {}, leavePace: pace.leave }
    this.#expireAt(endsAt, running, stop)
    this.#running.set(id, running)
    return subscription
  }

  /** A timer may fire early: no timer of Node waits for more than 25 days, and the wall clock can be set back. */
  #expireAt(endsAt: number, running: Running, stop: (why: Fault) => void): void {
    const leftMs = Math.max(0, endsAt - this.#clock.now())
    running.cancelExpiry = this.#clock.schedule(leftMs, () => {
      if (this.#clock.now() < endsAt) this.#expireAt(endsAt, running, stop)
      else stop(streamExpired())
    })
  }

  get(id: string): Subscription | undefined {
    return this.#running.get(id)?.subscription
  }

  /** A stream that has ended, or ends now, and whose reader can still get the frames that it missed. */
  resumable(id: string): Subscription | undefined {
    return this.get(id) ?? this.#ended.get(id)
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
    running.leavePace()
    running.subscription.close(outcome)
    if (!this.#stopping) this.#ended.keep(id, running.subscription)
  }

  /** Stops every stream of this node for a shutdown, and every one that starts later. */
  stopAll(why: Fault, stop: (id: string) => void): void {
    this.#stopping = why
    this.#ended.forgetAll()
    for (const id of this.#running.keys()) stop(id)
  }
}
