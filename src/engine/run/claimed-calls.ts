/**
 * Decides what happens to a claimed call: it is started, given back because no slot is free, held for its approval, or
 * ended because running it again would be wrong.
 */

import { type Instance, startsOf } from '../../core/call/instance.ts'
import type { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { AttemptParts } from '../attempt/job.ts'
import type { Conclusions } from '../end/conclusions.ts'
import { canceled, givenUp, outcomeUnknown } from '../end/end-faults.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import { awaitsReader, stoppedUnrun } from '../stream/stream-ends.ts'
import { abandon } from '../wait/abandon.ts'
import type { HeldStart } from '../wait/held-start.ts'
import type { CallEnds } from './call-ends.ts'
import { type LeaseParts, stillLeased } from './old-lease.ts'
import { canGoOn, isHeld } from './running.ts'
import type { RunningCalls } from './running-calls.ts'
import { LOOK_AGAIN_MS, type Starting } from './starting.ts'
import { giveBackUnbegun, leavesQueue, withoutStart } from './unbegun-calls.ts'

export interface ClaimedCallsParts {
  attempts: AttemptParts
  registry: Registry
  limits: Limits
  conclusions: Conclusions
  running: RunningCalls
  ends: CallEnds
  starting: Starting
  heldStart: HeldStart
  lease: LeaseParts
  /** A call that was interrupted more often than this is given up. */
  maxCutOffs: number
  wake(): void
}

export class ClaimedCalls {
  readonly #parts: ClaimedCallsParts

  constructor(parts: ClaimedCallsParts) {
    this.#parts = parts
  }

  begin(instance: Instance): void {
    const { attempts, registry, limits, conclusions, maxCutOffs } = this.#parts
    if (this.#goesOn(instance)) return
    const operation = registry.byKey(instance.operation)
    if (!operation) {
      // The operation was removed during the claim. The call waits until the operation is defined again.
      void conclusions.giveBackUnbegun(instance)
      return
    }
    if (leavesQueue(instance)) limits.dequeued(instance)
    const cutOffs = instance.attempt - 1 - instance.settled
    if (instance.stopRequested) {
      this.#end(instance, operation, canceled())
      abandon(attempts, instance, operation)
    } else if (awaitsReader(instance, attempts.env.clock.now())) void conclusions.leaveAwaited(instance)
    else if (cutOffs > 0 && !canGoOn(instance)) this.#end(instance, operation, outcomeUnknown())
    else if (cutOffs > maxCutOffs) this.#end(instance, operation, givenUp(cutOffs))
    else this.#beginIfRoom(instance, operation)
  }

  /** True if this node still works on the call: its end is not written yet, or its handler still runs. */
  #goesOn(instance: Instance): boolean {
    const running = this.#parts.running.get(instance.id)
    if (this.#parts.conclusions.takesUp(instance)) {
      if (running) running.instance = instance
      return true
    }
    if (!running || running.concluding || running.attempt.stoppedBy) return false
    // The lease expired while the whole process was suspended. The handler continues under the new lease.
    running.instance = withoutStart(instance, instance.attempt - running.instance.attempt)
    return true
  }

  #end(instance: Instance, operation: Operation, why: Fault): void {
    // This claim started nothing. Earlier ones may have.
    const acted = startsOf(instance) > 1
    void this.#parts.ends.endUnbegun(instance, operation, stoppedUnrun(instance, why), acted)
  }

  #beginIfRoom(instance: Instance, operation: Operation): void {
    const { limits } = this.#parts
    const isChild = instance.lineage.length > 0
    if (isChild) limits.started(operation, instance)
    const free = isChild || limits.takeClaimed(operation, instance)
    if (free instanceof Promise) void this.#beginOnceFree(free, instance, operation)
    else this.#beginOrGiveBack(free, instance, operation)
  }

  async #beginOnceFree(taking: Promise<boolean>, instance: Instance, operation: Operation): Promise<void> {
    try {
      this.#beginOrGiveBack(await taking, instance, operation)
    } catch (err) {
      this.#lookAgain(instance, operation, err, 'could not request a slot')
    }
  }

  #beginOrGiveBack(free: boolean, instance: Instance, operation: Operation): void {
    if (!free) void this.#giveBack(instance)
    else if (isHeld(instance)) void this.#beginHeld(instance, operation)
    else this.#start(instance, operation)
  }

  #start(instance: Instance, operation: Operation): void {
    const { starting, lease } = this.#parts
    const leased = stillLeased(lease, instance)
    if (leased === true) starting.start(instance, operation)
    else void leased.then((held) => (held ? starting.start(instance, operation) : this.leave(instance, operation)))
  }

  /** Gives back a call that has a slot and must not be started here. */
  leave(instance: Instance, operation: Operation): Promise<void> {
    this.#parts.limits.ended(operation, instance)
    return this.#giveBack(instance)
  }

  /** The call is due, and this node may be the only one that knows: its next claim leaves the call or finds a slot. */
  async #giveBack(instance: Instance): Promise<void> {
    await giveBackUnbegun(this.#parts, instance)
    this.#parts.wake()
  }

  /** Starts a call whose approval was decided or expired. The call takes a slot before it uses the approval. */
  async #beginHeld(instance: Instance, operation: Operation): Promise<void> {
    const { limits, heldStart } = this.#parts
    let ready: Instance | undefined
    try {
      ready = await heldStart.begin(instance, operation)
    } catch (err) {
      this.#lookAgain(instance, operation, err, 'could not read an approval')
    }
    if (ready) this.#start(ready, operation)
    else limits.ended(operation, instance)
  }

  /**
   * Gives the call back for a later claim. The call has not started, so the next node must not count it as interrupted.
   */
  #lookAgain(instance: Instance, operation: Operation, err: unknown, message: string): void {
    const { clock, log } = this.#parts.attempts.env
    log.error({ operation: operation.key, err }, message)
    void giveBackUnbegun(this.#parts, instance, clock.now() + LOOK_AGAIN_MS)
  }
}
