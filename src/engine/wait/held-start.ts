/**
 * Starts a call that waited for an approval. The use of the approval and the new state of the call are written
 * together.
 */

import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Advanced, RecordChange } from '../../core/ports/store.ts'
import { deadlineOf } from '../attempt/call-terms.ts'
import type { Conclusions } from '../end/conclusions.ts'
import { MOST_TRIES } from './approval-book.ts'
import type { HeldCalls } from './held-calls.ts'

export interface HeldStartParts {
  held: HeldCalls
  conclusions: Conclusions
  clock: Clock
  leaseMs: number
  end(instance: Instance, operation: Operation, why: Fault): Promise<void>
}

export class HeldStart {
  readonly #parts: HeldStartParts

  constructor(parts: HeldStartParts) {
    this.#parts = parts
  }

  /**
   * `undefined` if the call has ended or still waits. Tries again if the approval changed before the ruling was
   * written.
   */
  async begin(instance: Instance, operation: Operation): Promise<Instance | undefined> {
    const { held, conclusions, end } = this.#parts
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const ruling = await held.rulingOn(instance, operation)
      if (ruling instanceof Fault) {
        await end(instance, operation, ruling)
        return undefined
      }
      const runs = 'run' in ruling
      const after = runs
        ? await this.#beginApproved(instance, operation, ruling.run)
        : await conclusions.leaveHeld(instance, ruling.waitUntil, ruling.seen)
      if (!after.recordsDiffer) return runs && after.applied ? after.instance : undefined
    }
    // The call becomes due again, as if the decision had arrived later.
    await conclusions.giveBackUnbegun(instance)
    return undefined
  }

  /** The deadline for all attempts starts when the call may run. */
  async #beginApproved(instance: Instance, operation: Operation, use: readonly RecordChange[]): Promise<Advanced> {
    const { conclusions, clock, leaseMs } = this.#parts
    const { extras } = instance
    const deadlineMs = extras?.deadlineAt === undefined ? deadlineOf(operation, extras?.terms) : undefined
    if (use.length === 0 && deadlineMs === undefined) return { applied: true, instance }
    const deadlineAt = clock.now() + (deadlineMs ?? 0)
    const more = deadlineMs === undefined ? undefined : { ...extras, deadlineAt }
    return conclusions.beginHeld(instance, use, more, leaseMs)
  }
}
