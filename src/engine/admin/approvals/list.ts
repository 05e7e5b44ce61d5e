/** Lists approvals for approvers. A list of all of them is bounded by what it reads. */
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import type { Approvals } from '../../wait/approvals.ts'
import { APPROVAL_SCHEMA, type ApprovalView, viewOf } from '../approval-view.ts'
import { ID, LIMIT, MAX_PAGE, record } from '../shapes.ts'

export interface ApprovalsParts {
  approvals: Pick<Approvals, 'pending' | 'list'>
  clock: Pick<Clock, 'now'>
}

interface ListArgs {
  all?: boolean
  limit?: number
  after?: string
}

interface ApprovalPage {
  approvals: ApprovalView[]
  /** Pass it as `after` to get the next page. Absent on the last page. */
  next?: string
}

/** The maximum number of approvals that one call reads. */
const MAX_SCANNED = 2_000

export function listApprovals(parts: () => ApprovalsParts) {
  return operation('v1:callplane.approvals.list', {
    description: 'Lists the approvals that wait for a decision, oldest first. With "all", lists decided ones too.',
    internal: true,
    scopes: [SCOPES.approve],
    args: jsonSchema<ListArgs>(record({ all: { type: 'boolean' }, limit: LIMIT, after: ID })),
    result: jsonSchema<ApprovalPage>({
      type: 'object',
      required: ['approvals'],
      properties: { approvals: { type: 'array', items: APPROVAL_SCHEMA }, next: ID },
    }),
    run: (args, { caller }) => pageOf(parts(), caller.tenant, args),
  })
}

async function pageOf(
  { approvals, clock }: ApprovalsParts,
  tenant: string,
  { all = false, limit = 50, after }: ListArgs,
): Promise<ApprovalPage> {
  if (!all) {
    const { approvals: waiting, next } = await approvals.pending(tenant, limit, after)
    return { approvals: waiting.map((one) => viewOf(one, clock.now())), ...(next !== undefined && { next }) }
  }
  const found: ApprovalView[] = []
  let last = after
  for (let scanned = 0; scanned < MAX_SCANNED; ) {
    const page = await approvals.list(tenant, MAX_PAGE, last)
    for (const approval of page) {
      last = approval.id
      found.push(viewOf(approval, clock.now()))
      if (found.length === limit) return { approvals: found, next: last }
    }
    if (page.length < MAX_PAGE) return { approvals: found }
    scanned += page.length
  }
  return { approvals: found, ...(last !== undefined && { next: last }) }
}
