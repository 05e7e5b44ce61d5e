/**
 * Approvals: somebody other than the caller lets one exact call run, once. They are kept beside the calls, so that a
 * decision counts whether the call still waits or is sent again, and whoever restarts meanwhile.
 */
import { type Approval, ApprovalBook, type Attachment, keptUntil } from './approval-book.ts'
import { Fault } from './fault.ts'
import type { JsonValue } from './json.ts'
import { type Caller, type Instance, ownerOf } from './model.ts'
import type { Operation } from './operation.ts'
import type { Decision, Environment, Records } from './ports.ts'

export type { Approval } from './approval-book.ts'

export interface ApprovalRequest {
  caller: Caller
  operation: Operation
  args: JsonValue
  attachments: readonly Attachment[]
  /** Of operation, arguments and attachments. */
  fingerprint: string
  decision: Decision
  /** A handler's call: its caller can only send the call again that the handler was run for. */
  nested: boolean
}

/** An approval that a call has used up. */
export interface Grant {
  readonly id: string
  /** For a call that was not run after all; absent if the same call has used it before. */
  giveBack?(): Promise<void>
}

export const APPROVAL_TTL_MS = 600_000
/** What somebody decides in a while; a caller who is told to come back sooner would only be told so again. */
const RETRY_AFTER_MS = 10_000

export class Approvals {
  readonly #env: Environment
  readonly #book: ApprovalBook
  readonly #pendingPerCaller: number
  /** Told of every new one. */
  onOpened: ((approval: Approval) => void) | undefined

  constructor(env: Environment, records: Records, pendingPerCaller: number) {
    this.#env = env
    this.#book = new ApprovalBook(env, records)
    this.#pendingPerCaller = pendingPerCaller
  }

  /** For a call that is about to be recorded, to wait under this id: its place among those that wait, or a fault. */
  async reserve(request: ApprovalRequest, id: string): Promise<Approval> {
    const approval = this.#create(request, id, id)
    await this.#enlist(approval)
    return approval
  }

  /** Now that its call is recorded. */
  async open(approval: Approval): Promise<void> {
    await this.#book.put(approval)
    this.onOpened?.(approval)
  }

  /** Its call was not recorded. */
  async unreserve(approval: Approval): Promise<void> {
    await this.#book.strike(approval)
  }

  /**
   * For a call that cannot wait: the approval it may use now, or a fault that says how its approval stands. The first
   * such call opens one, and whoever repeats the call finds the same. Nothing if the call has been approved and sent
   * under this key before, too long ago to be run: it can only be joined.
   */
  async use(request: ApprovalRequest, key?: string): Promise<Grant | undefined> {
    const { tenant } = request.caller
    const binding = this.#bindingOf(request)
    const before = key === undefined ? undefined : await this.#book.usedUnder(tenant, binding, key)
    if (before) return this.#isOver(before) ? undefined : { id: before.id }
    const standing = await this.#book.standing(tenant, binding)
    const grant = standing?.status === 'approved' && (await this.#grant(standing, key))
    if (grant) return grant
    if (standing?.status === 'pending' && !this.#isOver(standing)) throw pending(standing, request)
    if (standing) await this.#book.stepDown(standing)
    if (standing?.status === 'pending') throw undecided(standing.operation)
    if (standing?.status === 'denied') throw deniedApproval(standing)
    const approval = this.#create(request, this.#env.newId())
    await this.#enlist(approval)
    if (!(await this.#book.stand(approval, keptUntil(approval)))) {
      await this.#book.strike(approval)
      return this.use(request, key)
    }
    await this.open(approval)
    throw pending(approval, request)
  }

  /** An approval of the same that was given before and not used. */
  async unused(request: ApprovalRequest): Promise<Grant | undefined> {
    const standing = await this.#book.standing(request.caller.tenant, this.#bindingOf(request))
    return standing?.status === 'approved' ? this.#grant(standing) : undefined
  }

  /** How it stands with the approval a recorded call waits for: it may run, must wait on, or ends with this fault. */
  async settle(
    { tenant, operation, id }: Instance,
    approvalId: string,
  ): Promise<'run' | Fault | { waitUntil: number }> {
    const approval = await this.get(tenant, approvalId)
    switch (approval?.status) {
      case 'approved':
        return (await this.#markUsed(approval)) ? 'run' : unusedInTime(operation)
      case 'used':
        return approval.instanceId === id ? 'run' : unusedInTime(operation)
      case 'denied':
        return deniedApproval(approval)
      case 'pending':
        return this.#isOver(approval) ? undecided(operation) : { waitUntil: approval.expiresAt }
      default:
        return undecided(operation)
    }
  }

  get(tenant: string, id: string): Promise<Approval | undefined> {
    return this.#book.get(tenant, id)
  }

  /** Decided or not, the oldest first, from behind the one with the id `after`. */
  list(tenant: string, limit: number, after?: string): Promise<readonly Approval[]> {
    return this.#book.list(tenant, limit, after)
  }

  /** Those that wait for a decision, the oldest first, from behind the one with the id `after`. */
  async pending(tenant: string, limit: number, after?: string): Promise<{ approvals: Approval[]; next?: string }> {
    const approvals: Approval[] = []
    for await (const approval of this.#book.waiting(tenant, after)) {
      if (this.isPending(approval)) approvals.push(approval)
      if (approvals.length === limit) return { approvals, next: approval.id }
    }
    return { approvals }
  }

  /** Of every tenant: those that wait for a decision, and those whose call has yet to hear of it. */
  waiting(): AsyncIterable<Approval> {
    return this.#book.waiting()
  }

  isPending(approval: Approval): boolean {
    return approval.status === 'pending' && !this.#isOver(approval)
  }

  /** One with a call that waits stays on the list until that is told, and `released` says so. */
  async decide(decider: Caller, id: string, verdict: 'approve' | 'deny', why?: string): Promise<Approval> {
    const approval = await this.get(decider.tenant, id)
    if (!approval) throw new Fault('not-found', `There is no approval "${id}". List those there are.`)
    if (approval.status === 'canceled') throw callEnded()
    if (approval.status !== 'pending') {
      throw new Fault('conflict', `The approval "${id}" is ${approval.status} already.`, { code: 'APPROVAL_DECIDED' })
    }
    if (this.#isOver(approval)) throw undecided(approval.operation)
    const by = ownerOf(decider)
    if (by === approval.owner && !approval.selfApproval) {
      throw new Fault('forbidden', 'Nobody approves a call of their own. Ask somebody else.', { code: 'SELF_APPROVAL' })
    }
    const now = this.#env.clock.now()
    const decided: Approval = {
      ...approval,
      status: verdict === 'approve' ? 'approved' : 'denied',
      expiresAt: now + (approval.expiresAt - approval.createdAt),
      decision: { by, at: now, ...(why !== undefined && { why }) },
    }
    if (!(await this.#book.change(approval, decided))) return this.decide(decider, id, verdict, why)
    if (!approval.instanceId) {
      await this.#book.standUntilExpiry(decided)
      await this.#book.strike(decided)
    }
    return decided
  }

  async released(approval: Approval): Promise<void> {
    await this.#book.strike(approval)
  }

  /** Its call has ended: nobody need look at it any more, and what it was about is not kept unless somebody has decided. */
  async close(instance: Instance): Promise<void> {
    const { id, tenant, extras } = instance
    const approval = await this.get(tenant, extras?.approvalId ?? id)
    if (!approval || approval.instanceId !== id) return
    if (approval.status === 'pending' || approval.status === 'approved') {
      const { attachments: _dropped, ...rest } = approval
      const status = this.#isOver(approval) ? approval.status : 'canceled'
      if (!(await this.#book.change(approval, { ...rest, status, args: null }))) return this.close(instance)
    }
    await this.#book.strike(approval)
  }

  #create(request: ApprovalRequest, id: string, instanceId?: string): Approval {
    const { caller, operation, args, attachments, decision } = request
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
      selfApproval,
      createdAt: now,
      expiresAt: now + approvalTtlMs,
    }
  }

  #bindingOf({ caller, operation, fingerprint }: ApprovalRequest): string {
    return this.#env.digest(JSON.stringify([caller.tenant, ownerOf(caller), operation.key, fingerprint]))
  }

  async #enlist(approval: Approval): Promise<void> {
    if (await this.#book.enlist(approval, this.#pendingPerCaller)) return
    const message = `${this.#pendingPerCaller} calls of yours wait for an approval. Wait until some of them are decided.`
    throw new Fault('overloaded', message, { code: 'TOO_MANY_PENDING_APPROVALS', retryAfterMs: RETRY_AFTER_MS })
  }

  async #grant(approval: Approval, key?: string): Promise<Grant | undefined> {
    const used = await this.#markUsed(approval, key)
    return used && { id: used.id, giveBack: () => this.#giveBack(used) }
  }

  /** Of two who would use it at once, one does. */
  async #markUsed(approval: Approval, key?: string): Promise<Approval | undefined> {
    if (this.#isOver(approval)) return undefined
    if (key !== undefined) await this.#book.noteUse(approval, key)
    const used: Approval = { ...approval, status: 'used', ...(key !== undefined && { usedUnder: key }) }
    if (!(await this.#book.change(approval, used))) return undefined
    if (!approval.instanceId) await this.#book.stepDown(approval)
    return used
  }

  /** For a call that has used one and only asked something: the same call, with the answers, may use it again. */
  async handBack(tenant: string, id: string): Promise<void> {
    const approval = await this.get(tenant, id)
    if (approval?.status === 'used' && !approval.instanceId) await this.#giveBack(approval)
  }

  async #giveBack(used: Approval): Promise<void> {
    const { usedUnder: _nobody, ...rest } = used
    const again: Approval = { ...rest, status: 'approved' }
    if (await this.#book.change(used, again)) await this.#book.standUntilExpiry(again)
  }

  #isOver({ expiresAt }: Approval): boolean {
    return expiresAt <= this.#env.clock.now()
  }
}

export function callEnded(): Fault {
  return new Fault('conflict', 'The call ended before it was decided: it was canceled, or its time is over.', {
    code: 'CALL_ENDED',
  })
}

function pending({ id, operation, expiresAt, rule }: Approval, { nested }: ApprovalRequest): Fault {
  const until = new Date(expiresAt).toISOString()
  // A handler that has done something before it made this call ends for good, and keeps the key it was called with.
  const advice = nested
    ? 'Call again once it is; if the answer is still this one, under a new idempotency key.'
    : 'Send the same call again once it is.'
  const message = `${nameOf(operation)} needs an approval, which can be given until ${until}. ${advice}`
  return new Fault('approval-pending', message, {
    details: { approval_id: id, expires_at: until, ...(rule !== undefined && { rule }) },
  })
}

function undecided(operation: string): Fault {
  return new Fault('approval-expired', `Nobody approved ${nameOf(operation)} in time. Call again to ask anew.`)
}

function unusedInTime(operation: string): Fault {
  const message = `The approval of ${nameOf(operation)} was not used in its time. Call again to ask anew.`
  return new Fault('approval-expired', message)
}

function deniedApproval({ id, operation, decision }: Approval): Fault {
  const why = decision?.why === undefined ? '' : `: ${decision.why}`
  return new Fault('approval-denied', `The approval of ${nameOf(operation)} was denied${why}.`, {
    details: { approval_id: id },
  })
}

function nameOf(key: string): string {
  return key.split('@', 1)[0] as string
}
