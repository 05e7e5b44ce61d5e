/**
 * Approvals: somebody other than the caller lets one exact call run, once. They are kept beside the calls, so that a
 * decision counts whether the call still waits or is sent again, and whoever restarts meanwhile.
 */
import { Fault } from './fault.ts'
import type { JsonValue } from './json.ts'
import { type Caller, type Instance, ownerOf } from './model.ts'
import type { Operation } from './operation.ts'
import type { Decision, Environment, Records } from './ports.ts'

export interface Approval {
  id: string
  tenant: string
  status: 'pending' | 'approved' | 'denied' | 'used'
  /** Who wants to run it. */
  owner: string
  userId?: string
  operation: string
  risk: Operation['risk']
  args: JsonValue
  /** Of the operation, the caller and the arguments: what it is good for. */
  binding: string
  rule?: string
  reason?: string
  /** The call that waits for it; without one it is good for the next call that matches. */
  instanceId?: string
  /** The idempotency key of the call that has used it: the same call again is no second use. */
  usedUnder?: string
  selfApproval: boolean
  createdAt: number
  /** Until when it can be decided, and once it is given, until when it can be used. */
  expiresAt: number
  decision?: { by: string; at: number; why?: string }
}

export interface ApprovalRequest {
  caller: Caller
  operation: Operation
  args: JsonValue
  /** Of operation, arguments and attachments. */
  fingerprint: string
  decision: Decision
}

export const APPROVAL_TTL_MS = 600_000
/** How long it can be looked up after its end. */
const RETENTION_MS = 30 * 86_400_000
/** As long as the key of the call that used it is kept at the least, and no longer. */
const USE_RETENTION_MS = 86_400_000

export class Approvals {
  readonly #env: Environment
  readonly #records: Records
  /** Told of every new one. */
  onOpened: ((approval: Approval) => void) | undefined

  constructor(env: Environment, records: Records) {
    this.#env = env
    this.#records = records
  }

  /** For a call that is recorded and waits. */
  async open(request: ApprovalRequest, instance: Instance): Promise<Approval> {
    const approval = this.#create(request, instance.id, instance.id)
    await this.#records.add(keyOf(approval), JSON.stringify(approval), approval.expiresAt + RETENTION_MS)
    this.onOpened?.(approval)
    return approval
  }

  /**
   * For a call that cannot wait: the approval it may use now, or a fault that says how its approval stands. The first
   * such call opens one, and whoever repeats the call finds the same. Nothing if the call has been approved and sent
   * under this key before, too long ago to be run: it can only be joined.
   */
  async use(request: ApprovalRequest, key?: string): Promise<Approval | undefined> {
    const before = key === undefined ? undefined : await this.#usedUnder(request, key)
    if (before) return this.#isOver(before) ? undefined : before
    const standing = await this.#standing(request)
    if (standing?.status === 'approved' && (await this.#markUsed(standing, key))) return standing
    if (standing?.status === 'pending' && !this.#isOver(standing)) throw pending(standing)
    if (standing) await this.#records.remove(pointerOf(standing))
    if (standing?.status === 'pending') throw expiredApproval(standing.operation)
    if (standing?.status === 'denied') throw deniedApproval(standing)
    const approval = this.#create(request, this.#env.newId())
    const { expiresAt } = approval
    // Past its end for as long again, so that whoever asks late hears that it was not decided in time.
    if (!(await this.#records.add(pointerOf(approval), approval.id, expiresAt + (expiresAt - approval.createdAt)))) {
      return this.use(request, key)
    }
    await this.#records.put(keyOf(approval), JSON.stringify(approval), expiresAt + RETENTION_MS)
    this.onOpened?.(approval)
    throw pending(approval)
  }

  /** An approval of the same that was given before and not used. */
  async unused(request: ApprovalRequest): Promise<Approval | undefined> {
    const standing = await this.#standing(request)
    return standing?.status === 'approved' && (await this.#markUsed(standing)) ? standing : undefined
  }

  /** How it stands with the approval a recorded call waits for: it may run, must wait on, or ends with this fault. */
  async settle(
    { tenant, operation, id }: Instance,
    approvalId: string,
  ): Promise<'run' | Fault | { waitUntil: number }> {
    const approval = await this.get(tenant, approvalId)
    if (!approval) return expiredApproval(operation)
    switch (approval.status) {
      case 'approved':
        return (await this.#markUsed(approval)) ? 'run' : expiredApproval(operation)
      case 'used':
        return approval.instanceId === id ? 'run' : expiredApproval(operation)
      case 'denied':
        return deniedApproval(approval)
      case 'pending':
        return this.#isOver(approval) ? expiredApproval(operation) : { waitUntil: approval.expiresAt }
    }
  }

  async get(tenant: string, id: string): Promise<Approval | undefined> {
    const text = await this.#records.get(keyOf({ tenant, id }))
    return text === undefined ? undefined : (JSON.parse(text) as Approval)
  }

  /** The oldest first, from behind the one with the id `after`. */
  async list(tenant: string, limit: number, after?: string): Promise<readonly Approval[]> {
    const from = after === undefined ? undefined : keyOf({ tenant, id: after })
    const found = await this.#records.list(keyOf({ tenant, id: '' }), limit, from)
    return found.map(({ value }) => JSON.parse(value) as Approval)
  }

  isPending(approval: Approval): boolean {
    return approval.status === 'pending' && !this.#isOver(approval)
  }

  async decide(decider: Caller, id: string, verdict: 'approve' | 'deny', why?: string): Promise<Approval> {
    const approval = await this.get(decider.tenant, id)
    if (!approval) throw new Fault('not-found', `There is no approval "${id}". List those there are.`)
    if (approval.status !== 'pending') {
      throw new Fault('conflict', `The approval "${id}" is ${approval.status} already.`, { code: 'APPROVAL_DECIDED' })
    }
    if (this.#isOver(approval)) throw expiredApproval(approval.operation)
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
    if (await this.#change(approval, decided)) {
      if (!approval.instanceId) await this.#records.put(pointerOf(decided), decided.id, decided.expiresAt)
      return decided
    }
    return this.decide(decider, id, verdict, why)
  }

  #create(
    { caller, operation, args, fingerprint, decision }: ApprovalRequest,
    id: string,
    instanceId?: string,
  ): Approval {
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
      binding: this.#bindingOf(caller, operation, fingerprint),
      ...(rule !== undefined && { rule }),
      ...(reason !== undefined && { reason }),
      ...(instanceId !== undefined && { instanceId }),
      selfApproval,
      createdAt: now,
      expiresAt: now + approvalTtlMs,
    }
  }

  #bindingOf(caller: Caller, operation: Operation, fingerprint: string): string {
    return this.#env.digest(JSON.stringify([caller.tenant, ownerOf(caller), operation.key, fingerprint]))
  }

  async #standing({ caller, operation, fingerprint }: ApprovalRequest): Promise<Approval | undefined> {
    const { tenant } = caller
    const id = await this.#records.get(pointerOf({ tenant, binding: this.#bindingOf(caller, operation, fingerprint) }))
    return id === undefined ? undefined : this.get(tenant, id)
  }

  async #usedUnder({ caller, operation, fingerprint }: ApprovalRequest, key: string): Promise<Approval | undefined> {
    const { tenant } = caller
    const id = await this.#records.get(this.#useOf(tenant, this.#bindingOf(caller, operation, fingerprint), key))
    const approval = id === undefined ? undefined : await this.get(tenant, id)
    return approval?.status === 'used' && approval.usedUnder === key ? approval : undefined
  }

  #useOf(tenant: string, binding: string, key: string): string {
    return `approval-used/${tenant}/${this.#env.digest(JSON.stringify([binding, key]))}`
  }

  /** Of two who would use it at once, one does. */
  async #markUsed(approval: Approval, key?: string): Promise<boolean> {
    if (this.#isOver(approval) && !approval.instanceId) return false
    const { tenant, binding, id } = approval
    // Before it is used: a use that nobody could find again would be lost if the server ended here.
    if (key !== undefined) {
      await this.#records.put(this.#useOf(tenant, binding, key), id, this.#env.clock.now() + USE_RETENTION_MS)
    }
    const usedUnder = key === undefined ? {} : { usedUnder: key }
    const used = await this.#change(approval, { ...approval, status: 'used', ...usedUnder })
    if (used && !approval.instanceId) await this.#records.remove(pointerOf(approval))
    return used
  }

  #change(from: Approval, to: Approval): Promise<boolean> {
    const expiresAt = to.expiresAt + RETENTION_MS
    return this.#records.replace(keyOf(from), JSON.stringify(from), JSON.stringify(to), expiresAt)
  }

  #isOver({ expiresAt }: Approval): boolean {
    return expiresAt <= this.#env.clock.now()
  }
}

function keyOf({ tenant, id }: Pick<Approval, 'tenant' | 'id'>): string {
  return `approval/${tenant}/${id}`
}

function pointerOf({ tenant, binding }: Pick<Approval, 'tenant' | 'binding'>): string {
  return `approval-for/${tenant}/${binding}`
}

function pending({ id, operation, expiresAt, rule }: Approval): Fault {
  const until = new Date(expiresAt).toISOString()
  const message = `${nameOf(operation)} needs an approval, which can be given until ${until}. Send the same call again once it is.`
  return new Fault('approval-pending', message, {
    details: { approval_id: id, expires_at: until, ...(rule !== undefined && { rule }) },
  })
}

function expiredApproval(operation: string): Fault {
  return new Fault('approval-expired', `Nobody approved ${nameOf(operation)} in time. Call again to ask anew.`)
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
