/** The caller's side of the Tool Contract: encodes requests to a remote tool and decodes its responses. */
import type { BackendContext } from '../../core/call/context.ts'
import { Fault, type FaultOptions } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { toolNameOf } from '../../core/operation/names.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { RemoteAnswer, RemoteRequest } from '../../core/ports/outbound.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { parseTraceparent } from '../../wire/traceparent.ts'
import { CODES, faultOf } from './faults.ts'
import { decodeOutput } from './output.ts'
import { CONTRACT_VERSION, type ToolExecutionRequest, type ToolStatus, type Trace } from './wire.ts'

/** Largest response. See docs/readings.md#a31. */
export const DEFAULT_MAX_BYTES = 4 * 1024 * 1024

const DEFAULT_MAX_BACKOFF_MS = 30_000
/** Replaces the namespace of an operation that has none, as in the tool names that this server gives out. */
const TOOLKIT = 'callplane'

type RequestContext = Pick<
  BackendContext,
  'key' | 'sessionId' | 'caller' | 'operation' | 'terms' | 'traceparent' | 'tryNumber'
>

/** `mode` is the Contract's word for the backend. `tool` is the remote name of the tool. Default: our own name. */
export function encodeRequest(
  args: unknown,
  context: RequestContext,
  { mode, tool }: { mode: string; tool?: string },
): ToolExecutionRequest {
  const { operation, caller, terms } = context
  const { auth } = operation
  return {
    tool_contract_version: CONTRACT_VERSION,
    request_id: context.key,
    task_id: context.sessionId ?? '',
    namespace: caller.tenant,
    agent: caller.subject,
    tool: {
      name: tool ?? toolNameOf(operation.name, TOOLKIT),
      operation: 'invoke',
      capabilities: operation.capabilities,
      risk_level: operation.risk,
    },
    input: isJsonObject(args) ? args : {},
    // docs/readings.md#a2: arguments that are not an object are sent as text, which takes precedence over `input`.
    input_raw: isJsonObject(args) ? '' : encodeRaw(args),
    runtime: {
      mode,
      // 0: no time limit.
      timeout_ms: terms.timeoutMs ?? 0,
      max_attempts: terms.retry.attempts,
      backoff: 'exponential',
      max_backoff_ms: terms.retry.maxBackoffMs ?? DEFAULT_MAX_BACKOFF_MS,
      jitter: (terms.retry.jitter ?? 'none') !== 'none',
      attempt: context.tryNumber,
    },
    // The name of the secret only. The secret itself is sent in a header.
    auth: { profile: auth?.profile ?? '', secret_ref: auth?.secretRef ?? '', scopes: auth?.scopes ?? [] },
    trace: traceOf(context.traceparent),
  }
}

/** Encodes arguments as the body of a raw call: text unchanged, all other values as JSON. */
export function encodeRaw(args: unknown): string {
  return typeof args === 'string' ? args : (JSON.stringify(args) ?? '')
}

function traceOf(traceparent: string | undefined): Trace {
  const { traceId = '', spanId = '' } = parseTraceparent(traceparent) ?? {}
  return { trace_id: traceId, span_id: spanId }
}

/** Returns the output of a strict response, or throws the fault in it. docs/readings.md#a13 and #a14. */
export function decodeResponse(text: string, expectedRequestId: string): JsonObject {
  return outputOf(parseResponse(parseText(text), expectedRequestId))
}

/** A ToolExecutionResponse with a valid status, version and request id. The other fields are not checked. */
export interface CheckedResponse {
  status: ToolStatus
  body: JsonObject
}

/** `expectedRequestId` is `undefined` if the tool did not receive our request id. Then the id is not compared. */
export function parseResponse(value: JsonValue, expectedRequestId: string | undefined): CheckedResponse {
  const status = isJsonObject(value) ? statusOf(value) : undefined
  if (!isJsonObject(value) || status === undefined) {
    throw badAnswer('is not a ToolExecutionResponse: "status" must be ok, error or denied')
  }
  const { tool_contract_version: version, request_id: requestId } = value
  if (version !== undefined && version !== '' && !(typeof version === 'string' && /^v1(?:\.\d+)*$/.test(version))) {
    throw badAnswer('has another version of the Tool Contract; it must be v1')
  }
  if (expectedRequestId !== undefined && requestId !== expectedRequestId) {
    throw badAnswer('belongs to another request: its "request_id" is not the one that was sent')
  }
  return { status, body: value }
}

export function outputOf({ status, body }: CheckedResponse): JsonObject {
  const { output = null } = body
  if (status !== 'ok') throw faultIn(status, body.error)
  if (isJsonObject(output)) return decodeOutput(output)
  return output === null ? {} : { result: output }
}

/** Distinguishes an envelope from a body that only has a field named "status". docs/readings.md#a12. */
export function isEnvelope(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value) || statusOf(value) === undefined) return false
  return value.tool_contract_version !== undefined || isJsonObject(value.output) || isJsonObject(value.error)
}

/**
 * Returns the output of an envelope, any other object unchanged, and other text as `{ result: text }`.
 * docs/readings.md#a12.
 */
export function decodeRaw(text: string): JsonObject {
  const value = tryParse(text)
  if (!isJsonObject(value)) return { result: text }
  return isEnvelope(value) ? outputOf(parseResponse(value, undefined)) : value
}

/** Decodes the output of a program like `decodeRaw`. */
export function decodeRawBytes(bytes: Uint8Array): JsonObject {
  return decodeRaw(textOf(bytes))
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('upstream', 'The tool wrote output that is not UTF-8 text. Change the tool to write JSON.', {
      code: 'BAD_ANSWER',
      retryable: false,
      cause,
    })
  }
}

function statusOf({ status }: JsonObject): ToolStatus | undefined {
  return status === 'ok' || status === 'error' || status === 'denied' ? status : undefined
}

function faultIn(status: 'error' | 'denied', given: JsonValue | undefined): Fault {
  const error: JsonObject = isJsonObject(given) ? given : {}
  const code = typeof error.code === 'string' && error.code !== '' ? error.code : undefined
  const message = typeof error.message === 'string' && error.message !== '' ? error.message : 'The tool gave no reason.'
  const options: FaultOptions = {
    retryable: error.retryable === true,
    details: isJsonObject(error.details) ? error.details : {},
  }
  if (status === 'error') return faultOf(code ?? 'execution_failed', message, options)
  // A denial stays a denial, with any code.
  const denies =
    code === undefined || !Object.hasOwn(CODES, code) || CODES[code as keyof typeof CODES].status !== status
  return faultOf(denies ? 'permission_denied' : code, message, options)
}

function parseText(text: string): JsonValue {
  try {
    return parseJsonText(text)
  } catch (thrown) {
    const { code, message } = Fault.from(thrown)
    const broken = code === 'INVALID_JSON'
    throw new Fault('upstream', broken ? 'The tool returned a response that is not JSON.' : message, {
      code: 'BAD_ANSWER',
      retryable: broken,
      cause: thrown,
    })
  }
}

/** Returns `undefined` for text that is not JSON, and for JSON that the strict parser refuses. */
function tryParse(text: string): JsonValue | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    return parseJsonText(text)
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined
    throw thrown
  }
}

function badAnswer(problem: string): Fault {
  return new Fault('upstream', `The tool's response ${problem}. Report this to the tool's developer.`, {
    code: 'BAD_ANSWER',
    retryable: false,
  })
}

/**
 * Sends a POST with the operation's credential. Returns the text of the response, or throws the fault for its HTTP
 * status.
 */
export async function postToTool(
  parts: Pick<BackendParts, 'remote' | 'clock'>,
  context: Pick<BackendContext, 'credential' | 'signal'>,
  request: Omit<RemoteRequest, 'method' | 'signal'>,
): Promise<string> {
  const answer = await sendToTool(parts, context, { ...request, method: 'POST' })
  if (isSuccess(answer)) return answer.text
  throw faultOfAnswer(answer, parts)
}

/** Sends a request with the operation's credential. Returns the response with any HTTP status. */
export function sendToTool(
  { remote }: Pick<BackendParts, 'remote'>,
  context: Pick<BackendContext, 'credential' | 'signal'>,
  { headers, ...request }: Omit<RemoteRequest, 'signal'>,
): Promise<RemoteAnswer> {
  const { signal } = context
  return sendWithCredential(
    context,
    (credential) => remote.send({ ...request, headers: { ...headers, ...credential }, signal }),
    ({ status }) => status === 401,
  )
}

export function isSuccess({ status }: RemoteAnswer): boolean {
  return status >= 200 && status < 300
}

/** The fault for a response whose status is not 2xx. */
export function faultOfAnswer({ status, header }: RemoteAnswer, { clock }: Pick<BackendParts, 'clock'>): Fault {
  return faultOfStatus(status, parseRetryAfter(header('retry-after'), clock.now()))
}

/** Maps an HTTP status that is not 2xx to a fault. docs/readings.md#a10 and #a11. */
export function faultOfStatus(status: number, retryAfterMs?: number): Fault {
  const details = { http_status: status }
  if (status === 401) {
    return new Fault('credential-invalid', 'The tool rejected the credential (401). Check its secret.', {
      details,
    })
  }
  if (status === 403) {
    return new Fault(
      'credential-forbidden',
      'The credential is not allowed to do this (403). Extend its permissions.',
      {
        details,
      },
    )
  }
  const retryable = status === 429 || status >= 500
  const advice = retryable ? 'Try again later.' : 'Check the declaration of this operation and its arguments.'
  return new Fault('upstream', `The tool responded with HTTP ${status}. ${advice}`, {
    retryable,
    details,
    ...(retryable && retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** Parses seconds or an HTTP date. Returns `undefined` for all other text. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text.trim())) return Number(text.trim()) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
