/** Calls that wait for an approval, when a worker looks at one: whether it may run now. */
import type { Approvals } from './approvals.ts'
import { Fault } from './fault.ts'
import type { Instance } from './model.ts'
import type { Operation } from './operation.ts'
import type { Guard, Log } from './ports.ts'
import { decideAll, denied } from './rulings.ts'

export class HeldCalls {
  readonly #approvals: Approvals
  readonly #guards: readonly Guard[]
  readonly #log: Log

  constructor(approvals: Approvals, guards: readonly Guard[], log: Log) {
    this.#approvals = approvals
    this.#guards = guards
    this.#log = log
  }

  /** It may run, must wait on, or ends with this fault. */
  async rulingOn(instance: Instance, operation: Operation): Promise<'run' | Fault | { waitUntil: number }> {
    const { id, tenant, extras } = instance
    const approvalId = extras?.approvalId ?? id
    // Once it is used the call has begun, and goes on as calls do that needed no approval.
    const approved = (await this.#approvals.get(tenant, approvalId))?.status === 'approved'
    const objection = approved ? await this.#objectionTo(instance, operation) : undefined
    return objection ?? this.#approvals.settle(instance, approvalId)
  }

  /** Its call has ended. The end is what counts: an approval that stays behind expires. */
  async close(instance: Instance): Promise<void> {
    try {
      await this.#approvals.close(instance)
    } catch (err) {
      this.#log.warn({ operation: instance.operation, err }, 'the approval of a call that ended could not be closed')
    }
  }

  /** It has only asked something: the approval it used is for the same call with the answers. */
  async handBack({ tenant, extras }: Instance): Promise<void> {
    if (extras?.approvalId !== undefined) await this.#approvals.handBack(tenant, extras.approvalId)
  }

  /** What was approved is what was shown, under the rules of today: a person let it pass, and no rule may be against it. */
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
  const message = `The approval was asked for ${asked}, and this server now has ${key}. Call again to ask anew.`
  return new Fault('approval-expired', message)
}
