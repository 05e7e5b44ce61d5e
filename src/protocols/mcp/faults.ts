/**
 * Encodes faults for MCP. A failure that a model can act on is a tool result with `isError` and a text for the model.
 * An error of the client is a JSON-RPC error.
 */
import { Fault, type FaultKind } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { textForModel } from '../../wire/model-text.ts'
import { type CallToolResult, type Generation, META, type RpcError } from './wire.ts'

export { STILL_RUNNING } from '../../wire/model-text.ts'

interface Wording {
  /** Code of the JSON-RPC error. Servers may define −32000 to −32019. */
  code: number
  status: number
  /** Response of `tools/call`: a JSON-RPC error or a tool result. */
  onCall: 'error' | 'result'
}

const INVALID_PARAMS = -32602
const INTERNAL = -32603

const WORDING: Record<FaultKind, Wording> = {
  malformed: { code: INVALID_PARAMS, status: 200, onCall: 'error' },
  'unknown-operation': { code: INVALID_PARAMS, status: 200, onCall: 'error' },
  removed: { code: INVALID_PARAMS, status: 200, onCall: 'error' },
  unauthenticated: { code: -32010, status: 401, onCall: 'error' },
  forbidden: { code: -32011, status: 403, onCall: 'result' },
  'requirements-missing': { code: -32011, status: 200, onCall: 'result' },
  'invalid-input': { code: INVALID_PARAMS, status: 200, onCall: 'result' },
  conflict: { code: INVALID_PARAMS, status: 200, onCall: 'result' },
  'not-found': { code: INVALID_PARAMS, status: 200, onCall: 'result' },
  'rate-limited': { code: -32012, status: 429, onCall: 'result' },
  overloaded: { code: -32012, status: 503, onCall: 'result' },
  unavailable: { code: -32012, status: 503, onCall: 'result' },
  domain: { code: INTERNAL, status: 200, onCall: 'result' },
  canceled: { code: INTERNAL, status: 200, onCall: 'result' },
  timeout: { code: INTERNAL, status: 200, onCall: 'result' },
  upstream: { code: INTERNAL, status: 200, onCall: 'result' },
  'policy-invalid': { code: INTERNAL, status: 200, onCall: 'result' },
  'isolation-unavailable': { code: INTERNAL, status: 200, onCall: 'result' },
  'secret-missing': { code: INTERNAL, status: 200, onCall: 'result' },
  'credential-invalid': { code: INTERNAL, status: 200, onCall: 'result' },
  'credential-forbidden': { code: INTERNAL, status: 200, onCall: 'result' },
  'credential-expired': { code: INTERNAL, status: 200, onCall: 'result' },
  'approval-pending': { code: INTERNAL, status: 200, onCall: 'result' },
  'approval-denied': { code: INTERNAL, status: 200, onCall: 'result' },
  'approval-expired': { code: INTERNAL, status: 200, onCall: 'result' },
  'outcome-unknown': { code: INTERNAL, status: 200, onCall: 'result' },
  internal: { code: INTERNAL, status: 500, onCall: 'result' },
}

/** Faults of the protocol and of body parsing, by fault code. */
const BY_CODE: Readonly<Record<string, { code: number; status: number }>> = {
  INVALID_JSON: { code: -32700, status: 400 },
  INVALID_UTF8: { code: -32700, status: 400 },
  DUPLICATE_KEY: { code: -32700, status: 400 },
  INVALID_UNICODE: { code: -32700, status: 400 },
  NUMBER_TOO_LARGE: { code: -32700, status: 400 },
  TOO_DEEP: { code: -32700, status: 400 },
  BODY_TOO_LARGE: { code: -32600, status: 413 },
  UNSUPPORTED_CONTENT_TYPE: { code: -32600, status: 415 },
  INVALID_RPC: { code: -32600, status: 400 },
  METHOD_NOT_FOUND: { code: -32601, status: 404 },
  UNKNOWN_SESSION: { code: -32001, status: 404 },
  META_MISSING: { code: INVALID_PARAMS, status: 400 },
  HEADER_MISMATCH: { code: -32020, status: 400 },
  CAPABILITY_MISSING: { code: -32021, status: 400 },
  UNSUPPORTED_VERSION: { code: -32022, status: 400 },
}

/** Only for these codes does the specification define `data`, which is the fault's details. */
const WITH_DATA = new Set(['CAPABILITY_MISSING', 'UNSUPPORTED_VERSION', 'UNKNOWN_RESOURCE'])

export function encodeError(fault: Fault): RpcError {
  const { code } = ownWording(fault) ?? WORDING[fault.kind]
  const data = fault.kind === 'malformed' && WITH_DATA.has(fault.code) ? fault.details : undefined
  return { code, message: fault.message, ...(data && { data }) }
}

/** Older clients end their session on a 404, so they get 200 for an unknown method. */
export function statusOf(fault: Fault, generation: Generation): number {
  if (fault.code === 'METHOD_NOT_FOUND' && generation === 'initialized') return 200
  const { status } = ownWording(fault) ?? WORDING[fault.kind]
  return status
}

/** Returns the scopes that the credential lacks. `undefined` if another credential would not help. */
export function missingScopes({ kind, details }: Fault): readonly string[] | undefined {
  const { missing, required } = details ?? {}
  return kind === 'forbidden' && Array.isArray(missing) && Array.isArray(required) ? (required as string[]) : undefined
}

export function isResultOnCall(fault: Fault): boolean {
  return WORDING[fault.kind].onCall === 'result'
}

/** A handler may use the same codes for its own faults, so only `malformed` faults are looked up. */
function ownWording({ kind, code }: Fault): { code: number; status: number } | undefined {
  return kind === 'malformed' && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined
}

export function encodeFailure(fault: Fault): CallToolResult {
  return {
    content: [{ type: 'text', text: textForModel(fault) }],
    isError: true,
    _meta: { [META.error]: failureFacts(fault) },
  }
}

function failureFacts({ code, retryable, retryAfterMs, details }: Fault): JsonObject {
  return { code, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }), ...(details && { details }) }
}

export function unknownMethod(method: string): Fault {
  return new Fault(
    'malformed',
    `There is no method "${method.slice(0, 100)}". Use server/discover to see what this server supports.`,
    {
      code: 'METHOD_NOT_FOUND',
    },
  )
}

export function invalidParams(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_PARAMS' })
}
