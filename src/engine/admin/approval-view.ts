/** An approval as an approver sees it: the call, its caller and the status. */

import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Attachment } from '../wait/approval-book.ts'
import type { Approval } from '../wait/approvals.ts'
import { PREVIOUS_SCHEMA, type PreviousApproval } from './approvals/previous.ts'
import { OTHER_ARGS, timeText } from './shapes.ts'

export const STATUSES = ['pending', 'approved', 'denied', 'used', 'expired', 'canceled'] as const

export interface ApprovalView {
  id: string
  status: (typeof STATUSES)[number]
  operation: string
  /** The caller's issuer and subject. */
  caller: string
  userId?: string
  risk: string
  /** `null` once the call has ended without using the approval. */
  args: JsonValue
  attachments?: readonly Attachment[]
  rule?: string
  reason?: string
  /** True if the call waits and continues by itself. False if the caller must send it again. */
  waits: boolean
  createdAt: string
  expiresAt: string
  decision?: { by: string; at: string; why?: string }
  /** The last approved call of the same operation and caller. Only `approvals.get` has it. */
  previous?: PreviousApproval
}

export function viewOf(approval: Approval, now: number): ApprovalView {
  const { id, operation, owner, userId, risk, args, attachments, rule, reason, instanceId } = approval
  const { createdAt, expiresAt, decision } = approval
  return {
    id,
    status: statusOf(approval, now),
    operation,
    caller: owner,
    ...(userId !== undefined && { userId }),
    risk,
    args,
    ...(attachments && { attachments }),
    ...(rule !== undefined && { rule }),
    ...(reason !== undefined && { reason }),
    waits: instanceId !== undefined,
    createdAt: timeText(createdAt),
    expiresAt: timeText(expiresAt),
    ...(decision && { decision: { ...decision, at: timeText(decision.at) } }),
  }
}

/** An approval that was not decided, or not used, in time has expired. */
function statusOf({ status, expiresAt }: Approval, now: number): ApprovalView['status'] {
  const lapses = status === 'pending' || status === 'approved'
  return lapses && expiresAt <= now ? 'expired' : status
}

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }

const ATTACHMENT: JsonObject = {
  type: 'object',
  required: ['name', 'mimeType', 'bytes', 'sha256'],
  properties: { name: text, mimeType: text, bytes: { type: 'integer' }, sha256: text },
}

export const APPROVAL_SCHEMA: JsonObject = {
  type: 'object',
  required: ['id', 'status', 'operation', 'caller', 'risk', 'args', 'waits', 'createdAt', 'expiresAt'],
  properties: {
    id: text,
    status: { enum: [...STATUSES] },
    operation: text,
    caller: text,
    userId: text,
    risk: text,
    args: OTHER_ARGS,
    attachments: { type: 'array', items: ATTACHMENT },
    rule: text,
    reason: text,
    waits: { type: 'boolean' },
    createdAt: time,
    expiresAt: time,
    decision: { type: 'object', required: ['by', 'at'], properties: { by: text, at: time, why: text } },
    previous: PREVIOUS_SCHEMA,
  },
}
