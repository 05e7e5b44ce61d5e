/** A call as an operator sees it: without its arguments and its result. */
import { isDead } from '../../../core/call/dead-letter.ts'
import { faultIn, type Instance, shownStartsOf } from '../../../core/call/instance.ts'
import type { JsonObject } from '../../../core/json.ts'
import { nameIn } from '../../../core/operation/names.ts'
import { type ListedCall, waitsForApproval } from '../../../core/ports/call-list.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import { COUNT, timeText } from '../shapes.ts'
import { CALL_ID } from './filter.ts'

export interface CallSummary {
  id: string
  requestId: string
  /** Without its version. */
  operation: string
  version: string
  owner: string
  userId?: string
  state: string
  held?: true
  /** Of the fault that ended the call. */
  code?: string
  kind?: string
  /** How often the handler was started. */
  attempts: number
  createdAt: string
  endedAt?: string
  /** To the end. Absent for an open call. */
  durationMs?: number
  expiresAt: string
  parent?: string
  replayOf?: string
  deadLetter?: true
  progress?: { fraction: number; message?: string }
}

/** What `summaryOf` needs of the environment. A progress message is a handler's text. */
export type ViewParts = Pick<Environment, 'redact'>

export function summaryOf({ redact }: ViewParts, call: ListedCall): CallSummary {
  const { id, requestId, operation, owner, caller, state, fault, createdAt, endedAt, extras, progress } = call
  return {
    id,
    requestId,
    operation: nameIn(operation),
    version: operation.slice(operation.indexOf('@') + 1),
    owner,
    ...(caller.userId !== undefined && { userId: caller.userId }),
    state,
    ...(waitsForApproval(call) && { held: true }),
    ...(fault && { code: fault.code, kind: fault.kind }),
    attempts: shownStartsOf(call),
    createdAt: timeText(createdAt),
    ...(endedAt !== undefined && { endedAt: timeText(endedAt), durationMs: Math.max(0, endedAt - createdAt) }),
    expiresAt: timeText(call.expiresAt),
    ...(extras?.calledBy !== undefined && { parent: extras.calledBy }),
    ...(extras?.replayOf !== undefined && { replayOf: extras.replayOf }),
    ...(fault && isDead(fault.kind) && { deadLetter: true as const }),
    ...(progress && {
      progress: {
        fraction: progress.fraction,
        ...(progress.message !== undefined && { message: String(redact(progress.message)) }),
      },
    }),
  }
}

/** The same facts of a call that was read as a whole. */
export function listedOf(instance: Instance): ListedCall {
  const fault = faultIn(instance.outcome)
  return fault ? { ...instance, fault: { kind: fault.kind, code: fault.code } } : instance
}

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }

export const SUMMARY_FIELDS = {
  id: CALL_ID,
  requestId: text,
  operation: text,
  version: text,
  owner: text,
  userId: text,
  state: text,
  held: { type: 'boolean' },
  code: text,
  kind: text,
  attempts: COUNT,
  createdAt: time,
  endedAt: time,
  durationMs: COUNT,
  expiresAt: time,
  parent: text,
  replayOf: text,
  deadLetter: { type: 'boolean' },
  progress: {
    type: 'object',
    required: ['fraction'],
    properties: { fraction: { type: 'number' }, message: text },
  },
} satisfies Record<string, JsonObject>

export const SUMMARY_SCHEMA: JsonObject = {
  type: 'object',
  required: ['id', 'requestId', 'operation', 'version', 'owner', 'state', 'attempts', 'createdAt', 'expiresAt'],
  properties: SUMMARY_FIELDS,
}
