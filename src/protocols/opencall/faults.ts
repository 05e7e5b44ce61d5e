/** OpenCALL's status and code for each kind of fault (docs/readings.md#r01, #r20 and #r26). */
import { Fault, type FaultKind } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ErrorBody } from './wire.ts'

interface Wording {
  status: number
  code: (code: string, isOwn: boolean) => string
}

const own = (code: string) => code
/** For failures of the server and its dependencies. A code from the application stays unchanged. */
const panic = (code: string, isOwn: boolean) => (isOwn ? code : `PANIC_${code}`)

const WORDING: Record<FaultKind, Wording> = {
  malformed: { status: 400, code: own },
  'unknown-operation': { status: 400, code: () => 'UNKNOWN_OP' },
  removed: { status: 410, code: () => 'OP_REMOVED' },
  unauthenticated: { status: 401, code: own },
  forbidden: { status: 403, code: own },
  'requirements-missing': { status: 403, code: own },
  'invalid-input': { status: 400, code: own },
  conflict: { status: 400, code: own },
  'not-found': { status: 404, code: own },
  'rate-limited': { status: 429, code: own },
  overloaded: { status: 503, code: panic },
  unavailable: { status: 503, code: panic },
  domain: { status: 200, code: own },
  canceled: { status: 200, code: own },
  timeout: { status: 500, code: panic },
  upstream: { status: 502, code: panic },
  'policy-invalid': { status: 400, code: own },
  'isolation-unavailable': { status: 500, code: panic },
  'secret-missing': { status: 500, code: panic },
  'credential-invalid': { status: 502, code: panic },
  'credential-forbidden': { status: 502, code: panic },
  'credential-expired': { status: 502, code: panic },
  'approval-pending': { status: 403, code: own },
  'approval-denied': { status: 403, code: own },
  'approval-expired': { status: 403, code: own },
  'outcome-unknown': { status: 500, code: own },
  internal: { status: 500, code: panic },
}

export function statusOf(fault: Fault): number {
  return WORDING[fault.kind].status
}

/** "Operation Removed (410)": the cause names the operation, also if its own handler reports the removal. */
export function namingRemoved(fault: Fault, op: string): Fault {
  return new Fault(fault.kind, fault.message, { ...fault.toRecord(), details: { removedOp: op, ...fault.details } })
}

export function encodeFault(fault: Fault): ErrorBody {
  const { details, retryable, retryAfterMs, promptContent, developerMessage } = fault
  const cause: JsonObject = {
    ...details,
    ...(retryable && { retryable }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(promptContent !== undefined && { promptContent }),
    ...(developerMessage !== undefined && { developerMessage }),
  }
  return {
    code: WORDING[fault.kind].code(fault.code, fault.ownCode),
    message: fault.message,
    ...(Object.keys(cause).length > 0 && { cause }),
  }
}
