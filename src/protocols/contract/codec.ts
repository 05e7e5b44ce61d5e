/** Converts between the Contract's messages and the engine's calls and replies. */

import type { Call } from '../../core/call/call.ts'
import type { ResultLocation } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { normalizeTraceparent } from '../../wire/traceparent.ts'
import type { ParsedRequest } from './envelope.ts'
import { CODES, codeOf } from './faults.ts'
import { encodeOutput } from './output.ts'
import {
  CONTRACT_VERSION,
  type ToolExecutionError,
  type ToolExecutionResponse,
  type ToolStatus,
  type Trace,
} from './wire.ts'

/**
 * The request id is also the idempotency key: the same request joins the running call, for every tool. Each further
 * attempt of the runtime is a separate call. Otherwise it would only receive the stored failure of the first attempt.
 */
export function decodeCall(
  { requestId: id, attempt, args, terms, taskId }: ParsedRequest,
  operation: string,
  { trace_id, span_id }: Trace,
): Call {
  const requestId = attemptId(id, attempt)
  const call: Call = { operation, args, media: [], requestId, idempotencyKey: requestId }
  if (Object.keys(terms).length > 0) call.terms = terms
  if (taskId.trim() !== '') call.sessionId = taskId
  const traceparent = normalizeTraceparent(`00-${trace_id}-${span_id}-01`)
  if (traceparent !== undefined) call.traceparent = traceparent
  return call
}

export function attemptId(requestId: string, attempt: number): string {
  return attempt > 1 ? `${requestId}~${attempt}` : requestId
}

/** Fields of every response to a request. */
export interface Answered {
  requestId: string
  trace: Trace
  /** Time since the request arrived. Used only if the reply has no `durationMs`. */
  elapsedMs: number
}

export type LocatedReply = Extract<Reply, { location: ResultLocation }>

/** Returns the address of a result that is not in the reply. */
export type Locate = (
  reply: LocatedReply,
  origin: string,
) => {
  uri: string
  mimeType?: string
  auth?: JsonObject
  value?: JsonValue
}

export type EndedReply = Extract<Reply, { state: 'complete' | 'error' }>

export function encodeReply(
  reply: EndedReply,
  answered: Answered,
  locate: (reply: LocatedReply) => ReturnType<Locate>,
): ToolExecutionResponse {
  if (reply.state === 'error') return encodeFault(reply.fault, answered, reply.usage)
  const output = encodeOutput('result' in reply ? reply.result : encodeLocated(locate(reply)))
  return { ...base(answered, 'ok', reply.usage), output }
}

export function encodeFault(fault: Fault, answered: Answered, usage?: Reply['usage']): ToolExecutionResponse {
  const error = encodeError(fault)
  return { ...base(answered, CODES[error.code].status, usage), error }
}

/** docs/readings.md#a23. A call that was refused before it ran has attempt 1. */
function base({ requestId, trace, elapsedMs }: Answered, status: ToolStatus, usage: Reply['usage']) {
  const { durationMs = elapsedMs, attempt = 1 } = usage ?? {}
  return {
    tool_contract_version: CONTRACT_VERSION,
    request_id: requestId,
    status,
    usage: { duration_ms: Math.max(0, Math.round(durationMs)), attempt: Math.max(1, attempt) },
    trace,
  }
}

function encodeLocated({ uri, mimeType, auth, value }: ReturnType<Locate>): JsonObject {
  return {
    location: uri,
    ...(mimeType !== undefined && { mime_type: mimeType }),
    ...(auth && { auth }),
    ...(value !== undefined && { value }),
  }
}

/** Encodes a response as JSON text. With `strings`, every value in `details` is text, as some runtimes require. */
export function encodeResponse(response: ToolExecutionResponse, { details }: { details: 'json' | 'strings' }): string {
  const { error } = response
  if (!error || details === 'json') return JSON.stringify(response)
  const texts = Object.entries(error.details).map(([name, value]) => [name, textOf(value)] as const)
  return JSON.stringify({ ...response, error: { ...error, details: Object.fromEntries(texts) } })
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function encodeError(fault: Fault): ToolExecutionError {
  const code = codeOf(fault.kind)
  const { reason } = CODES[code]
  return { code, reason, retryable: fault.retryable, message: fault.message, details: encodeDetails(fault) }
}

/** docs/readings.md#a4 and #a29. */
function encodeDetails({ kind, code, details = {}, retryAfterMs, promptContent }: Fault): JsonObject {
  const { timeoutMs, missing, ...facts } = details
  return {
    ...facts,
    ...(missing !== undefined && { missing }),
    ...(kind === 'forbidden' && Array.isArray(missing) && { permission_ref: missing.join(' ') }),
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    // The tool's own error code. The Contract's codes are a closed set.
    ...(kind === 'domain' && { tool_error: code }),
    ...(retryAfterMs !== undefined && { retry_after_ms: Math.ceil(retryAfterMs) }),
    ...(promptContent !== undefined && { prompt_content: promptContent }),
  }
}
