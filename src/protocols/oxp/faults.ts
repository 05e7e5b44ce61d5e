/** Encodes faults for OXP: refusals before the tool was called, and errors of a tool that ran. "Error Behavior". */
import type { Fault, FaultKind } from '../../core/fault.ts'
import type { ServerErrorResponse, ToolError } from './wire.ts'

/** Status of a refusal. A failure of a call that was started is 200 with `success: false`. */
const STATUS: Record<FaultKind, 400 | 422> = {
  malformed: 400,
  'unknown-operation': 400,
  removed: 400,
  unauthenticated: 400,
  forbidden: 400,
  'requirements-missing': 400,
  'invalid-input': 422,
  conflict: 400,
  'not-found': 400,
  'rate-limited': 400,
  overloaded: 400,
  unavailable: 400,
  domain: 400,
  canceled: 400,
  timeout: 400,
  upstream: 400,
  'policy-invalid': 400,
  'isolation-unavailable': 400,
  'secret-missing': 400,
  'credential-invalid': 400,
  'credential-forbidden': 400,
  'credential-expired': 400,
  'approval-pending': 400,
  'approval-denied': 400,
  'approval-expired': 400,
  'outcome-unknown': 400,
  internal: 400,
}

export function statusOf(fault: Fault): 400 | 422 {
  return STATUS[fault.kind]
}

/** The engine's message says "request id". OXP clients know it as `call_id`. */
const MESSAGES: Partial<Record<FaultKind, string>> = {
  conflict: 'This call_id was used for another call. Use a new one for each call.',
}

export function encodeRefusal({ kind, message, developerMessage }: Fault): ServerErrorResponse {
  return {
    message: MESSAGES[kind] ?? message,
    ...(developerMessage !== undefined && { developer_message: developerMessage }),
  }
}

export function encodeToolError(fault: Fault): ToolError {
  const { message, developerMessage, retryable, promptContent, retryAfterMs } = fault
  return {
    message,
    ...(developerMessage !== undefined && { developer_message: developerMessage }),
    can_retry: retryable,
    ...(promptContent !== undefined && { additional_prompt_content: promptContent }),
    ...(retryAfterMs !== undefined && { retry_after_ms: Math.ceil(retryAfterMs) }),
  }
}
