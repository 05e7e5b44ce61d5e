/** The last approved call of the same operation and caller, so that an approver sees what is different this time. */
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import type { Approval, Approvals } from '../../wait/approvals.ts'
import { ID, OTHER_ARGS, TIME, timeText } from '../shapes.ts'

export interface PreviousApproval {
  id: string
  args: JsonValue
  decidedAt: string
}

export const PREVIOUS_SCHEMA: JsonObject = {
  type: 'object',
  required: ['id', 'args', 'decidedAt'],
  properties: { id: ID, args: OTHER_ARGS, decidedAt: TIME },
}

export async function previousOf(
  approvals: Pick<Approvals, 'previous'>,
  approval: Approval,
): Promise<PreviousApproval | undefined> {
  const found = await approvals.previous(approval)
  // An approval whose call ended without using it has no arguments any more.
  if (!found?.decision || found.args === null) return undefined
  return { id: found.id, args: found.args, decidedAt: timeText(found.decision.at) }
}
