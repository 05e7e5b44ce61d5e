/**
 * The HTTP status of a refusal. With 200, a runtime reads the Contract's code from the ToolExecutionResponse. The other
 * statuses are those that runtimes act on directly, and those that must not be mistaken for the end of a job.
 */
import type { Fault, FaultKind } from '../../core/fault.ts'

const STATUS: Record<FaultKind, number> = {
  malformed: 400,
  'unknown-operation': 200,
  removed: 200,
  unauthenticated: 401,
  forbidden: 200,
  'requirements-missing': 200,
  'invalid-input': 200,
  conflict: 200,
  'not-found': 404,
  'rate-limited': 429,
  overloaded: 503,
  unavailable: 503,
  domain: 200,
  canceled: 200,
  timeout: 200,
  upstream: 200,
  'policy-invalid': 200,
  'isolation-unavailable': 200,
  'secret-missing': 200,
  'credential-invalid': 200,
  'credential-forbidden': 200,
  'credential-expired': 200,
  'approval-pending': 200,
  'approval-denied': 200,
  'approval-expired': 200,
  'outcome-unknown': 200,
  internal: 500,
}

export function statusOf({ kind, code }: Fault): number {
  if (code === 'BODY_TOO_LARGE') return 413
  return code === 'UNSUPPORTED_CONTENT_TYPE' ? 415 : STATUS[kind]
}
