/** Decides whether a call that waits for an approval may run now. */

import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { RecordChange } from '../../core/ports/store.ts'
import { decideAll, denied } from '../admit/verdicts.ts'
import { isHeld } from '../run/running.ts'
import type { Approvals, Ruling } from './approvals.ts'

export class HeldCalls {
  readonly #approvals: Approvals
  readonly #guards: readonly Guard[]
  readonly #log: Log

  constructor(approvals: Approvals, guards: readonly Guard[], log: Log) {
    this.#approvals = approvals
    this.#guards = guards
    this.#log = log
  }

  /** The call may run, must wait, or ends with this fault. */
  async rulingOn(instance: Instance, operation: Operation): Promise<Fault | Ruling> {
    const { id, tenant, extras } = instance
    const approvalId = extras?.approvalId ?? id
    // A call that has used its approval has started, and is treated like a call that needed none.
    const approved = (await this.#approvals.get(tenant, approvalId))?.status === 'approved'
    const objection = approved ? await this.#objectionTo(instance, operation) : undefined
    return objection ?? this.#approvals.settle(instance, approvalId)
  }

  /**
   * The records to write with the end of a call. A call that ends with questions (`asks`) returns the approval it used,
   * for the same call with the answers. Errors do not stop the end: an approval that cannot be read stays in the store
   * and expires.
   */
  async ending(instance: Instance, asks: boolean): Promise<readonly RecordChange[]> {
    const { tenant, extras } = instance
    try {
      if (isHeld(instance)) return await this.#approvals.closing(instance)
      if (asks && extras?.approvalId !== undefined) return await this.#approvals.handingBack(tenant, extras.approvalId)
    } catch (err) {
      this.#log.warn({ operation: instance.operation, err }, 'could not read the approval of a call that ends')
    }
    return []
  }

  /**
   * Checks an approved call against the current operation and rules. The approval does not override a rule that denies
   * the call.
   */
  async #objectionTo(instance: Instance, operation: Operation): Promise<Fault | undefined> {
    const { caller, args } = instance
    if (operation.key !== instance.operation) return changedSince(instance, operation)
    try {
      const parsed = await operation.parseArgs(args)
      for (const guard of this.#guards) await guard.admit?.(caller, operation)
      const decision = await decideAll(this.#guards, { caller, operation, args, parsed })
      return decision?.verdict === 'deny' ? denied(operation, decision) : undefined
    } catch (thrown) {
      return Fault.from(thrown)
    }
  }
}

function changedSince({ operation: asked }: Instance, { key }: Operation): Fault {
  const message = `The approval was requested for ${asked}, but this server now has ${key}. Call again to request a new one.`
  return new Fault('approval-expired', message)
}
