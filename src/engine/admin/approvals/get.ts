/** One approval for an approver, with the arguments of its call and those of the last approved one. */
import { Fault } from '../../../core/fault.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import type { Approvals } from '../../wait/approvals.ts'
import { APPROVAL_SCHEMA, type ApprovalView, viewOf } from '../approval-view.ts'
import { ID, record } from '../shapes.ts'
import { previousOf } from './previous.ts'

export interface ApprovalParts {
  approvals: Pick<Approvals, 'get' | 'previous'>
  clock: Pick<Clock, 'now'>
}

export function getApproval(parts: () => ApprovalParts) {
  return operation('v1:callplane.approvals.get', {
    description: 'Returns one approval, with the arguments of its call.',
    internal: true,
    scopes: [SCOPES.approve],
    args: jsonSchema<{ id: string }>(record({ id: ID }, ['id'])),
    result: jsonSchema<ApprovalView>(APPROVAL_SCHEMA),
    async run({ id }, { caller }) {
      const { approvals, clock } = parts()
      const approval = await approvals.get(caller.tenant, id)
      if (!approval) throw new Fault('not-found', `There is no approval "${id}". List the approvals to find the id.`)
      const previous = await previousOf(approvals, approval)
      return { ...viewOf(approval, clock.now()), ...(previous && { previous }) }
    },
  })
}
