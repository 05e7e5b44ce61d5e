/** HTTP status and body of each kind of refusal. The outcome of a tool that ran is always a CallToolResult. */
import type { Fault, FaultKind } from '../../core/fault.ts'

interface Wording {
  /** Status of a response with the body `{"error": …}`. */
  status: number
  /** On `/call`, every response except 401, 403 and 404 is a CallToolResult (docs/readings.md#rest-1). */
  onCall: 'error' | 'result'
  /** Replaces the fault's message. */
  error?: string
}

const WORDING: Record<FaultKind, Wording> = {
  malformed: { status: 400, onCall: 'result' },
  'unknown-operation': { status: 404, onCall: 'error' },
  removed: { status: 404, onCall: 'error' },
  // The specification prescribes this text. It does not give the reason.
  unauthenticated: { status: 401, onCall: 'error', error: 'Unauthorized' },
  forbidden: { status: 403, onCall: 'error' },
  'requirements-missing': { status: 403, onCall: 'result' },
  'invalid-input': { status: 400, onCall: 'result' },
  conflict: { status: 409, onCall: 'result' },
  'not-found': { status: 404, onCall: 'result' },
  'rate-limited': { status: 429, onCall: 'result' },
  overloaded: { status: 503, onCall: 'result' },
  unavailable: { status: 503, onCall: 'result' },
  domain: { status: 500, onCall: 'result' },
  canceled: { status: 500, onCall: 'result' },
  timeout: { status: 500, onCall: 'result' },
  upstream: { status: 502, onCall: 'result' },
  'policy-invalid': { status: 400, onCall: 'result' },
  'isolation-unavailable': { status: 500, onCall: 'result' },
  'secret-missing': { status: 500, onCall: 'result' },
  'credential-invalid': { status: 502, onCall: 'result' },
  'credential-forbidden': { status: 502, onCall: 'result' },
  'credential-expired': { status: 502, onCall: 'result' },
  'approval-pending': { status: 403, onCall: 'result' },
  'approval-denied': { status: 403, onCall: 'result' },
  'approval-expired': { status: 403, onCall: 'result' },
  'outcome-unknown': { status: 500, onCall: 'result' },
  internal: { status: 500, onCall: 'result' },
}

/** Faults for bodies that are not read. HTTP has a specific status for each. */
const UNREAD = new Map([
  ['BODY_TOO_LARGE', 413],
  ['UNSUPPORTED_CONTENT_TYPE', 415],
])

export function isUnread(fault: Fault): boolean {
  return UNREAD.has(fault.code)
}

export function statusOf(fault: Fault): number {
  return UNREAD.get(fault.code) ?? WORDING[fault.kind].status
}

/** Returns 413 or 415 for a body that was not read, and 500 for every other failure of a tool. */
export function callStatusOf(fault: Fault): number {
  return UNREAD.get(fault.code) ?? 500
}

export function isResultOnCall(fault: Fault): boolean {
  return WORDING[fault.kind].onCall === 'result'
}

export function errorOf(fault: Fault): string {
  return WORDING[fault.kind].error ?? fault.message
}
