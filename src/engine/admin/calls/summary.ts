/** A call as operators see it in a list: without its arguments and its outcome. */
import { isDead } from '../../../core/call/dead-letter.ts'
import { startsOf } from '../../../core/call/instance.ts'
import type { JsonObject } from '../../../core/json.ts'
import { type ListedCall, waitsForApproval } from '../../../core/ports/call-list.ts'
import { COUNT, ID, TIME, timeText } from '../shapes.ts'

export interface CallSummary {
  id: string
  requestId: string
  operation: string
  owner: string
  userId?: string
  state: string
  /** Waits for an approval. */
  held?: true
  code?: string
  kind?: string
  attempts: number
  createdAt: string
  endedAt?: string
  durationMs?: number
  expiresAt: string
  /** The request id of the call that made it. */
  parent?: string
  replayOf?: string
  deadLetter?: true
  progress?: { fraction?: number; message?: string }
}

const text = { type: 'string' }

export const SUMMARY_SCHEMA: JsonObject = {
  type: 'object',
  required: ['id', 'requestId', 'operation', 'owner', 'state', 'attempts', 'createdAt', 'expiresAt'],
  properties: {
    id: ID,
    requestId: text,
    operation: text,
    owner: text,
    state: text,
    attempts: COUNT,
    createdAt: TIME,
    endedAt: TIME,
    expiresAt: TIME,
  },
}

export function summaryOf(call: ListedCall): CallSummary {
  const { id, requestId, operation, owner, caller, state, fault, createdAt, endedAt, expiresAt, parentId } = call
  const { progress, extras } = call
  return {
    id,
    requestId,
    operation,
    owner,
    ...(caller.userId !== undefined && { userId: caller.userId }),
    state,
    ...(waitsForApproval(call) && { held: true as const }),
    ...(fault && { code: fault.code, kind: fault.kind }),
    attempts: startsOf(call),
    createdAt: timeText(createdAt),
    ...(endedAt !== undefined && { endedAt: timeText(endedAt), durationMs: Math.max(0, endedAt - createdAt) }),
    expiresAt: timeText(expiresAt),
    ...(parentId !== undefined && { parent: parentId }),
    ...(extras?.replayOf !== undefined && { replayOf: extras.replayOf }),
    ...(fault && isDead(fault.kind) && { deadLetter: true as const }),
    ...(progress && {
      progress: { fraction: progress.fraction, ...(progress.message !== undefined && { message: progress.message }) },
    }),
  }
}
