/**
 * The slot of a call, and its place among the open and the queued calls. Both are taken before the call is written, and
 * given back if it is not.
 */

import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { type Admitted, waitLimit } from '../admit/admitted.ts'
import type { Limits } from '../limits/limits.ts'
import type { Worker } from '../run/worker.ts'
import type { RunOptions } from './recorder.ts'

export class Room {
  readonly #limits: Limits
  readonly #worker: Pick<Worker, 'canStart'>

  constructor(limits: Limits, worker: Pick<Worker, 'canStart'>) {
    this.#limits = limits
    this.#worker = worker
  }

  /**
   * Takes the slot before the write; otherwise concurrent calls would see the same free slot. True if the call may
   * start at once.
   */
  takeSlot(admitted: Admitted, options: RunOptions): boolean | Promise<boolean> {
    const { operation, call } = admitted
    if (options.child) {
      this.#limits.started(operation, admitted)
      return true
    }
    if (operation.model === 'async') return this.#worker.canStart(admitted) && this.#limits.take(operation, admitted)
    const taken = this.#limits.take(operation, admitted)
    return taken || this.#limits.waitForSlot(operation, admitted, waitLimit(operation, call))
  }

  /** Throws a fault if there is no room. True if the call may start at once. */
  take(admitted: Admitted, options: RunOptions, free: boolean): boolean {
    const { operation } = admitted
    if (operation.model === 'sync' && !free) throw busy(operation)
    try {
      if (!options.child) this.#limits.requireRoom(options.ours ? undefined : admitted, !free)
    } catch (thrown) {
      if (free) this.#limits.ended(operation, admitted)
      throw thrown
    }
    this.#limits.opened(admitted)
    if (!free) this.#limits.enqueued(admitted)
    return free
  }

  giveBack(admitted: Admitted, started: boolean): void {
    this.#limits.closed(admitted)
    if (started) this.#limits.ended(admitted.operation, admitted)
    else this.#limits.dequeued(admitted)
  }
}

export function busy(operation: Operation): Fault {
  const why =
    operation.concurrency === undefined
      ? 'The server has no free slot'
      : `${operation.name.full} has reached its concurrency limit`
  return new Fault('overloaded', `${why}. Try again in a moment.`, {
    code: 'BUSY',
    retryAfterMs: 1_000,
  })
}
