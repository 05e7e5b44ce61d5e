/** Maps each kind of fault to a gRPC status code, for failures that are not reported in a message. */
import type { Fault, FaultKind } from '../../core/fault.ts'
import type { GrpcCode } from '../../wire/grpc/headers.ts'

const CODES: Record<FaultKind, GrpcCode> = {
  malformed: 'INVALID_ARGUMENT',
  'unknown-operation': 'NOT_FOUND',
  removed: 'NOT_FOUND',
  unauthenticated: 'UNAUTHENTICATED',
  forbidden: 'PERMISSION_DENIED',
  'requirements-missing': 'FAILED_PRECONDITION',
  'invalid-input': 'INVALID_ARGUMENT',
  conflict: 'ALREADY_EXISTS',
  'not-found': 'NOT_FOUND',
  'rate-limited': 'RESOURCE_EXHAUSTED',
  overloaded: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  domain: 'UNKNOWN',
  canceled: 'CANCELLED',
  timeout: 'DEADLINE_EXCEEDED',
  upstream: 'UNAVAILABLE',
  'policy-invalid': 'FAILED_PRECONDITION',
  'isolation-unavailable': 'FAILED_PRECONDITION',
  'secret-missing': 'FAILED_PRECONDITION',
  'credential-invalid': 'FAILED_PRECONDITION',
  'credential-forbidden': 'FAILED_PRECONDITION',
  'credential-expired': 'UNAVAILABLE',
  'approval-pending': 'FAILED_PRECONDITION',
  'approval-denied': 'PERMISSION_DENIED',
  'approval-expired': 'PERMISSION_DENIED',
  'outcome-unknown': 'ABORTED',
  internal: 'INTERNAL',
}

/** gRPC uses a different code for a message that is too large. */
export function codeOf({ kind, code }: Fault): GrpcCode {
  return code === 'BODY_TOO_LARGE' ? 'RESOURCE_EXHAUSTED' : CODES[kind]
}
