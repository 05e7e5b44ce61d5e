/** A person decides an approval. The same commit makes the waiting call due. */

import { ANONYMOUS, type Caller, ownerOf } from '../../core/call/caller.ts'
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import { wakeHeld } from '../end/transitions.ts'
import { hasEnded } from '../follow/waiting.ts'
import { type Approval, type ApprovalBook, isOver, MOST_TRIES } from './approval-book.ts'
import * as faults from './approval-faults.ts'

/**
 * Without authentication, all callers are this one, and it says nothing about who calls. A decider with this name has
 * logged in with a code from the server's terminal, which the other callers have not.
 */
const NOBODY = ownerOf(ANONYMOUS)

export class ApprovalDecisions {
  readonly #env: Environment
  readonly #store: Pick<Store, 'records' | 'get' | 'advance'>
  readonly #book: ApprovalBook
  readonly #tell: (approval: Approval) => void

  constructor(
    env: Environment,
    store: Pick<Store, 'records' | 'get' | 'advance'>,
    book: ApprovalBook,
    /** Reports a decision. */
    tell: (approval: Approval) => void,
  ) {
    this.#tell = tell
    this.#env = env
    this.#store = store
    this.#book = book
  }

  /** Decides the approval. The call that waits for it becomes due at once. */
  async decide(decider: Caller, id: string, verdict: 'approve' | 'deny', why?: string): Promise<Approval> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const approval = this.#decidable(await this.#book.get(decider.tenant, id), decider, id)
      const now = this.#env.clock.now()
      const isApproved = verdict === 'approve'
      const previous = isApproved ? await this.#book.lastApproved(approval) : undefined
      const decided: Approval = {
        ...approval,
        ...(previous !== undefined && { previous }),
        status: isApproved ? 'approved' : 'denied',
        expiresAt: now + (approval.expiresAt - approval.createdAt),
        decision: { by: ownerOf(decider), at: now, ...(why !== undefined && { why }) },
      }
      const change = [
        this.#book.change(approval, decided),
        ...this.#book.striking(decided),
        ...(isApproved ? [this.#book.noteApproved(decided)] : []),
      ]
      const written =
        approval.instanceId === undefined
          ? await this.#store.records.write([...change, this.#book.standUntilExpiry(decided)])
          : await this.#wake(await this.#store.get(approval.instanceId), change)
      if (written) {
        this.#tell(decided)
        return decided
      }
    }
    throw faults.contended()
  }

  #decidable(approval: Approval | undefined, decider: Caller, id: string): Approval {
    if (!approval) throw new Fault('not-found', `There is no approval "${id}". List the approvals to find the id.`)
    if (approval.status === 'canceled') throw faults.callEnded()
    if (approval.status !== 'pending') {
      throw new Fault('conflict', `The approval "${id}" is already ${approval.status}.`, { code: 'APPROVAL_DECIDED' })
    }
    if (isOver(approval, this.#env.clock.now())) throw faults.undecided(approval.operation)
    const { owner, replayedBy, selfApproval } = approval
    const self = ownerOf(decider)
    if ([owner, replayedBy].includes(self) && self !== NOBODY && !selfApproval) {
      throw new Fault('forbidden', 'You cannot approve your own call. Ask another person.', { code: 'SELF_APPROVAL' })
    }
    return approval
  }

  /** Writes the records and makes the call due. False if either has changed meanwhile. */
  async #wake(instance: Instance | undefined, records: readonly RecordChange[]): Promise<boolean> {
    if (!instance || hasEnded(instance)) throw faults.callEnded()
    // A worker has claimed the call. It reads the approval again before it gives the call back.
    if (instance.attempt !== instance.settled) return this.#store.records.write(records)
    return (await wakeHeld(this.#store, instance, this.#env.clock.now(), records)).applied
  }

  /**
   * Repairs what earlier versions left behind when they were killed: decisions that did not reach their calls, and list
   * entries and calls whose approval was never written. Such a call becomes due at once, and ends.
   */
  async repair(): Promise<void> {
    for await (const { tenant, id, approval } of this.#book.listed()) {
      if (approval && !approval.decision) continue
      const instance = await this.#store.get(approval?.instanceId ?? id)
      const owner = approval?.owner ?? instance?.owner ?? ''
      const struck = this.#book.striking({ tenant, id, owner })
      if (instance && !hasEnded(instance)) await this.#wake(instance, struck)
      else await this.#store.records.write(struck)
    }
  }
}
