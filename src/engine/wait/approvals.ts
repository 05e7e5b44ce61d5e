/**
 * Approvals: a person other than the caller allows one exact call to run once. Approvals are stored separately from
 * calls, so that a decision applies both to a waiting call and to a repeated one, also after a restart. One commit
 * writes an approval with the call that waits for it, a decision with the wake-up of its call, and a use with the call
 * that uses it.
 */

import { type Caller, ownerOf } from '../../core/call/caller.ts'
import type { Instance } from '../../core/call/instance.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Decision } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import { type Approval, ApprovalBook, type Attachment, isOver, MOST_TRIES, type Standing } from './approval-book.ts'
import { ApprovalDecisions } from './approval-decisions.ts'
import * as faults from './approval-faults.ts'

export type { Approval } from './approval-book.ts'

export interface ApprovalRequest {
  caller: Caller
  operation: Operation
  args: JsonValue
  attachments: readonly Attachment[]
  /** A hash of the operation, the arguments and the attachments. */
  fingerprint: string
  decision: Decision
  /** A handler made the call. Its caller can only repeat the call that started the handler. */
  nested: boolean
  /** Who made the call for its caller. */
  replayedBy?: string
}

/** An approval that a call may use. */
export interface Grant {
  readonly id: string
  /**
   * The records that mark the approval as used. They are written with the call. Absent if the same call has used it
   * before.
   */
  readonly use?: readonly RecordChange[]
  /** Returns the approval, for an unrecorded call that used it and then did not run. */
  giveBack?(): Promise<void>
}

/**
 * A waiting call may run, which uses its approval, or it must wait. `seen` is the condition that the approval
 * has not changed.
 */
export type Ruling = { run: readonly RecordChange[] } | { waitUntil: number; seen: RecordChange }

export const APPROVAL_TTL_MS = 600_000

export class Approvals {
  readonly #env: Environment
  readonly #store: Pick<Store, 'records' | 'get' | 'advance'>
  readonly #book: ApprovalBook
  readonly #pendingPerCaller: number
  /** A person approves or denies. */
  readonly decisions: ApprovalDecisions
  /** Returns records to write with every new approval. */
  onOpening: ((approval: Approval) => readonly RecordChange[]) | undefined
  /** Called for every new approval. */
  onOpened: ((approval: Approval) => void) | undefined
  readonly #listeners = new Set<{ changed: (approval: Approval) => void }>()

  constructor(env: Environment, store: Pick<Store, 'records' | 'get' | 'advance'>, pendingPerCaller: number) {
    this.#env = env
    this.#store = store
    this.#book = new ApprovalBook(env, store.records)
    this.#pendingPerCaller = pendingPerCaller
    this.decisions = new ApprovalDecisions(env, store, this.#book, (approval) => this.#tell(approval))
  }

  /**
   * Reserves an approval for a call that is about to be recorded with this id. Throws a fault if the caller has too
   * many.
   */
  async reserve(request: ApprovalRequest, id: string): Promise<Approval> {
    const approval = this.#create(request, id, id)
    await this.#reserve(approval)
    return approval
  }

  /** The records that open the approval. They are written with its call. */
  opening(approval: Approval): RecordChange[] {
    return [...this.#book.opening(approval), ...(this.onOpening?.(approval) ?? [])]
  }

  /** Reports the approval once it is written. */
  opened(approval: Approval): void {
    this.onOpened?.(approval)
    this.#tell(approval)
  }

  /** Calls `changed` with every approval that this process opens or decides. Returns a function that ends it. */
  listen(changed: (approval: Approval) => void): () => void {
    const listener = { changed }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #tell(approval: Approval): void {
    for (const { changed } of this.#listeners) changed(approval)
  }

  /** Frees the reservation of an approval whose call was not recorded. */
  unreserve(approval: Approval): Promise<void> {
    return this.#book.unreserve(approval)
  }

  /**
   * For a call that cannot wait: returns the approval that it may use now, or throws a fault with the status of its
   * approval. The first such call opens an approval, and a repeat finds the same one. `undefined` if a call with this
   * key used its approval and the approval has expired since: the call must not run again, it can only join the first
   * one.
   */
  async use(request: ApprovalRequest, key?: string): Promise<Grant | undefined> {
    const { tenant } = request.caller
    const binding = this.#bindingOf(request)
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const before = key === undefined ? undefined : await this.#book.usedUnder(tenant, binding, key)
      if (before) return this.#isOver(before) ? undefined : { id: before.id }
      const standing = await this.#book.standing(tenant, binding)
      const grant = this.#grantOf(standing?.approval, key)
      if (grant) return grant
      if (standing?.approval) await this.#refuse(standing.approval, request)
      const opened = await this.#open(request, standing)
      if (opened) throw faults.pending(opened, request.nested)
    }
    throw faults.contended()
  }

  /** Throws if the approval was denied or is not decided. A denial and an expiry are reported once. */
  async #refuse(approval: Approval, { nested }: ApprovalRequest): Promise<void> {
    const { status, operation } = approval
    if (status === 'pending' && !this.#isOver(approval)) throw faults.pending(approval, nested)
    if (status !== 'pending' && status !== 'denied') return
    await this.#store.records.write([this.#book.steppingDown(approval)])
    throw status === 'denied' ? faults.deniedApproval(approval) : faults.undecided(operation)
  }

  /** Opens an approval in place of `before`. `undefined` if `before` has changed meanwhile. */
  async #open(request: ApprovalRequest, before: Standing | undefined): Promise<Approval | undefined> {
    const { caller } = request
    // A path with the id leads to the caller's cell.
    const approval = this.#create(request, this.#env.newCallId(caller.tenant, ownerOf(caller)))
    await this.#reserve(approval)
    const stand = this.#book.stand(approval, before)
    if (!(await this.#store.records.write([stand, ...this.opening(approval)]))) {
      await this.unreserve(approval)
      return undefined
    }
    this.opened(approval)
    return approval
  }

  /** An earlier approval of the same call that is not used yet. */
  async unused(request: ApprovalRequest): Promise<Grant | undefined> {
    const standing = await this.#book.standing(request.caller.tenant, this.#bindingOf(request))
    return this.#grantOf(standing?.approval)
  }

  /** Throws as `reserve` would now, and reserves nothing. */
  async foreseeReserve(caller: Caller): Promise<void> {
    const who = { tenant: caller.tenant, owner: ownerOf(caller) }
    if (!(await this.#book.hasRoom(who, this.#pendingPerCaller))) throw faults.tooManyPending(this.#pendingPerCaller)
  }

  /** Uses the approval for an unrecorded call. False if another call used it, or if it changed. */
  async spend(grant: Grant): Promise<boolean> {
    return grant.use === undefined || this.#store.records.write(grant.use)
  }

  /** Checks the approval of a waiting call: the call may run, must wait, or ends with this fault. */
  async settle({ tenant, operation, id }: Instance, approvalId: string): Promise<Fault | Ruling> {
    const approval = await this.get(tenant, approvalId)
    switch (approval?.status) {
      case 'approved': {
        if (this.#isOver(approval)) return faults.unusedInTime(operation)
        return { run: [this.#book.change(approval, { ...approval, status: 'used' })] }
      }
      case 'used':
        return approval.instanceId === id ? { run: [] } : faults.unusedInTime(operation)
      case 'denied':
        return faults.deniedApproval(approval)
      case 'pending': {
        if (this.#isOver(approval)) return faults.undecided(operation)
        return { waitUntil: approval.expiresAt, seen: this.#book.change(approval, approval) }
      }
      default:
        return approval ? faults.undecided(operation) : faults.lostApproval(operation)
    }
  }

  get(tenant: string, id: string): Promise<Approval | undefined> {
    return this.#book.get(tenant, id)
  }

  /** The approved call of the same operation and caller before this one. */
  async previous(approval: Approval): Promise<Approval | undefined> {
    const isApproved = approval.decision !== undefined && approval.status !== 'denied'
    const id = isApproved ? approval.previous : await this.#book.lastApproved(approval)
    return id === undefined ? undefined : this.get(approval.tenant, id)
  }

  /** All approvals, oldest first, starting after the id `after`. */
  list(tenant: string, limit: number, after?: string): Promise<readonly Approval[]> {
    return this.#book.list(tenant, limit, after)
  }

  /** The pending approvals, oldest first, starting after the id `after`. */
  async pending(tenant: string, limit: number, after?: string): Promise<{ approvals: Approval[]; next?: string }> {
    const approvals: Approval[] = []
    for await (const approval of this.#book.waiting(tenant, after)) {
      if (this.isPending(approval)) approvals.push(approval)
      if (approvals.length === limit) return { approvals, next: approval.id }
    }
    return { approvals }
  }

  /** The pending approvals of all tenants. */
  waiting(): AsyncIterable<Approval> {
    return this.#book.waiting()
  }

  isPending(approval: Approval): boolean {
    return approval.status === 'pending' && !this.#isOver(approval)
  }

  /**
   * The records that close the approval. They are written with the end of its call. They remove the arguments and
   * attachments of a pending or unused approval.
   */
  async closing(instance: Instance): Promise<RecordChange[]> {
    const { id, tenant, extras } = instance
    const approval = await this.get(tenant, extras?.approvalId ?? id)
    if (!approval || approval.instanceId !== id) return []
    const struck = this.#book.striking(approval)
    if (approval.status !== 'pending' && approval.status !== 'approved') return struck
    const { attachments: _dropped, ...rest } = approval
    const status = this.#isOver(approval) ? approval.status : 'canceled'
    return [this.#book.change(approval, { ...rest, status, args: null }), ...struck]
  }

  /** For a call that used an approval and ended with questions: the same call, with the answers, may use it again. */
  async handingBack(tenant: string, id: string): Promise<RecordChange[]> {
    const approval = await this.get(tenant, id)
    return approval?.status === 'used' && !approval.instanceId ? this.#givingBack(approval) : []
  }

  #givingBack(used: Approval): RecordChange[] {
    const { usedUnder: _nobody, ...rest } = used
    const again: Approval = { ...rest, status: 'approved' }
    return [this.#book.change(used, again), this.#book.standUntilExpiry(again)]
  }

  #create(request: ApprovalRequest, id: string, instanceId?: string): Approval {
    const { caller, operation, args, attachments, decision, replayedBy } = request
    const now = this.#env.clock.now()
    const { rule, reason, approvalTtlMs = APPROVAL_TTL_MS, selfApproval = false } = decision
    return {
      id,
      tenant: caller.tenant,
      status: 'pending',
      owner: ownerOf(caller),
      ...(caller.userId !== undefined && { userId: caller.userId }),
      operation: operation.key,
      risk: operation.risk,
      args,
      ...(attachments.length > 0 && { attachments }),
      binding: this.#bindingOf(request),
      ...(rule !== undefined && { rule }),
      ...(reason !== undefined && { reason }),
      ...(instanceId !== undefined && { instanceId }),
      ...(replayedBy !== undefined && { replayedBy }),
      selfApproval,
      createdAt: now,
      expiresAt: now + approvalTtlMs,
    }
  }

  #bindingOf({ caller, operation, fingerprint }: ApprovalRequest): string {
    return this.#env.digest(JSON.stringify([caller.tenant, ownerOf(caller), operation.key, fingerprint]))
  }

  async #reserve(approval: Approval): Promise<void> {
    if (!(await this.#book.reserve(approval, this.#pendingPerCaller)))
      throw faults.tooManyPending(this.#pendingPerCaller)
  }

  /** The records have conditions: of two concurrent calls, only one can use the approval. */
  #grantOf(approval: Approval | undefined, key?: string): Grant | undefined {
    if (approval?.status !== 'approved' || this.#isOver(approval)) return undefined
    const used: Approval = { ...approval, status: 'used', ...(key !== undefined && { usedUnder: key }) }
    return {
      id: approval.id,
      use: [
        this.#book.change(approval, used),
        this.#book.steppingDown(approval),
        ...(key === undefined ? [] : [this.#book.noteUse(approval, key)]),
      ],
      giveBack: async () => void (await this.#store.records.write(this.#givingBack(used))),
    }
  }

  #isOver(approval: Approval): boolean {
    return isOver(approval, this.#env.clock.now())
  }
}
