/** Begins a call that waited for an approval: what the approval says is written with what becomes of the call. */
import { MOST_TRIES } from './approvals.ts'
import type { Conclusions } from './conclusions.ts'
import { Fault } from './fault.ts'
import type { HeldCalls } from './held-calls.ts'
import type { Instance } from './model.ts'
import type { Operation } from './operation.ts'
import type { Advanced, Clock, RecordChange } from './ports.ts'
import { deadlineOf } from './terms.ts'

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

  /** Nothing if it has ended or waits on. Looks again where its approval changed before the ruling was written. */
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
    // As if the decision came while nobody looked.
    await conclusions.giveBackUnbegun(instance)
    return undefined
  }

  /** The time of all attempts begins when the call may run. */
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
