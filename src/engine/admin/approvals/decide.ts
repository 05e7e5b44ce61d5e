/** Approves or denies one call. */
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import type { Store } from '../../../core/ports/store.ts'
import { hasEnded } from '../../follow/waiting.ts'
import type { Worker } from '../../run/worker.ts'
import { callEnded } from '../../wait/approval-faults.ts'
import type { Approval, Approvals } from '../../wait/approvals.ts'
import { APPROVAL_SCHEMA, type ApprovalView, viewOf } from '../approval-view.ts'
import { ID, record } from '../shapes.ts'

export interface DecideParts {
  approvals: Pick<Approvals, 'get' | 'decisions'>
  worker: Pick<Worker, 'wake'>
  store: Pick<Store, 'get'>
  clock: Pick<Clock, 'now'>
}

interface DecideArgs {
  id: string
  verdict: 'approve' | 'deny'
  why?: string
}

export function decideApproval(parts: () => DecideParts) {
  return operation('v1:callplane.approvals.decide', {
    description: 'Approves or denies one call. You cannot decide about your own call, unless the policy allows it.',
    internal: true,
    scopes: [SCOPES.approve],
    sideEffecting: true,
    // An approval can be decided only once, so a repeated request has no second effect.
    idempotencyRequired: false,
    args: jsonSchema<DecideArgs>(
      record({ id: ID, verdict: { enum: ['approve', 'deny'] }, why: { type: 'string', maxLength: 1_000 } }, [
        'id',
        'verdict',
      ]),
    ),
    result: jsonSchema<ApprovalView>(APPROVAL_SCHEMA),
    async run({ id, verdict, why }, { caller }) {
      const all = parts()
      const decided = await all.approvals.decisions.decide(caller, id, verdict, why)
      all.worker.wake()
      const waits = decided.instanceId !== undefined
      if (waits && verdict === 'approve' && (await endedWithout(all, decided))) throw callEnded()
      return viewOf(decided, all.clock.now())
    },
  })
}

/** True if the call ended while it was being approved, and did not run. */
async function endedWithout(
  { approvals, store }: DecideParts,
  { id, tenant, instanceId = id }: Approval,
): Promise<boolean> {
  const instance = await store.get(instanceId)
  if (instance && !hasEnded(instance)) return false
  return (await approvals.get(tenant, id))?.status !== 'used'
}
