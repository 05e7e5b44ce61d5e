/** Maps fault kinds to the Tool Contract's codes, and a tool's codes to fault kinds. "Error Model". */
import { Fault, type FaultKind, type FaultOptions } from '../../core/fault.ts'
import type { ContractCode, ToolStatus } from './wire.ts'

interface Meaning {
  reason: string
  /** docs/readings.md#a9. */
  status: Exclude<ToolStatus, 'ok'>
  kind: FaultKind
}

export const CODES: Record<ContractCode, Meaning> = {
  invalid_input: { reason: 'tool_invalid_input', status: 'error', kind: 'invalid-input' },
  unsupported_tool: { reason: 'tool_unsupported', status: 'error', kind: 'unknown-operation' },
  runtime_policy_invalid: { reason: 'tool_runtime_policy_invalid', status: 'error', kind: 'policy-invalid' },
  isolation_unavailable: { reason: 'tool_isolation_unavailable', status: 'error', kind: 'isolation-unavailable' },
  permission_denied: { reason: 'tool_permission_denied', status: 'denied', kind: 'forbidden' },
  secret_resolution_failed: { reason: 'tool_secret_resolution_failed', status: 'error', kind: 'secret-missing' },
  timeout: { reason: 'tool_execution_timeout', status: 'error', kind: 'timeout' },
  canceled: { reason: 'tool_execution_canceled', status: 'error', kind: 'canceled' },
  execution_failed: { reason: 'tool_backend_failure', status: 'error', kind: 'upstream' },
  auth_invalid: { reason: 'tool_auth_invalid', status: 'error', kind: 'credential-invalid' },
  auth_forbidden: { reason: 'tool_auth_forbidden', status: 'error', kind: 'credential-forbidden' },
  auth_expired: { reason: 'tool_auth_expired', status: 'error', kind: 'credential-expired' },
  approval_pending: { reason: 'tool_approval_pending', status: 'error', kind: 'approval-pending' },
  approval_denied: { reason: 'tool_approval_denied', status: 'denied', kind: 'approval-denied' },
  approval_timeout: { reason: 'tool_approval_timeout', status: 'denied', kind: 'approval-expired' },
}

const CODE_OF: Record<FaultKind, ContractCode> = {
  malformed: 'invalid_input',
  'unknown-operation': 'unsupported_tool',
  removed: 'unsupported_tool',
  unauthenticated: 'permission_denied',
  forbidden: 'permission_denied',
  'requirements-missing': 'permission_denied',
  'invalid-input': 'invalid_input',
  conflict: 'invalid_input',
  'not-found': 'invalid_input',
  'rate-limited': 'execution_failed',
  overloaded: 'execution_failed',
  unavailable: 'execution_failed',
  domain: 'execution_failed',
  canceled: 'canceled',
  timeout: 'timeout',
  upstream: 'execution_failed',
  'policy-invalid': 'runtime_policy_invalid',
  'isolation-unavailable': 'isolation_unavailable',
  'secret-missing': 'secret_resolution_failed',
  'credential-invalid': 'auth_invalid',
  'credential-forbidden': 'auth_forbidden',
  'credential-expired': 'auth_expired',
  'approval-pending': 'approval_pending',
  'approval-denied': 'approval_denied',
  'approval-expired': 'approval_timeout',
  'outcome-unknown': 'execution_failed',
  internal: 'execution_failed',
}

export function codeOf(kind: FaultKind): ContractCode {
  return CODE_OF[kind]
}

/** Returns the fault for a tool's code. An unknown code is kept in the details (docs/readings.md#a8). */
export function faultOf(code: string, message: string, options: FaultOptions): Fault {
  if (Object.hasOwn(CODES, code)) return new Fault(CODES[code as ContractCode].kind, message, options)
  return new Fault('upstream', message, { ...options, details: { ...options.details, upstream_code: code } })
}
