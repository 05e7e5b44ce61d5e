/** An approval as those see it who may decide: what would run, for whom, and how it stands. */

import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Attachment } from '../wait/approval-book.ts'
import type { Approval } from '../wait/approvals.ts'

export const STATUSES = ['pending', 'approved', 'denied', 'used', 'expired', 'canceled'] as const

export interface ApprovalView {
  id: string
  status: (typeof STATUSES)[number]
  operation: string
  /** Who wants to run it: issuer and subject. */
  caller: string
  userId?: string
  risk: string
  /** `null` once its call has ended without it. */
  args: JsonValue
  attachments?: readonly Attachment[]
  rule?: string
  reason?: string
  /** The call waits and goes on by itself; if not, it has to be sent again. */
  waits: boolean
  createdAt: string
  expiresAt: string
  decision?: { by: string; at: string; why?: string }
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

/** What nobody decided, or nobody used, in its time is good for nothing any more. */
function statusOf({ status, expiresAt }: Approval, now: number): ApprovalView['status'] {
  const lapses = status === 'pending' || status === 'approved'
  return lapses && expiresAt <= now ? 'expired' : status
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
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
    args: {},
    attachments: { type: 'array', items: ATTACHMENT },
    rule: text,
    reason: text,
    waits: { type: 'boolean' },
    createdAt: time,
    expiresAt: time,
    decision: { type: 'object', required: ['by', 'at'], properties: { by: text, at: time, why: text } },
  },
}
