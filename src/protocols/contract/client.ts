/** The caller's side of the Tool Contract: what a remote tool is sent, and what its answer means to us. */
import type { BackendContext } from '../../core/context.ts'
import { Fault, type FaultOptions } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { toolNameOf } from '../../core/names.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { RemoteRequest } from '../../core/ports/outbound.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { parseTraceparent } from '../../wire/traceparent.ts'
import { CODES, faultOf } from './faults.ts'
import { decodeOutput } from './output.ts'
import { CONTRACT_VERSION, type ToolExecutionRequest, type ToolStatus, type Trace } from './wire.ts'

/** docs/readings.md#a31. */
export const DEFAULT_MAX_BYTES = 4 * 1024 * 1024

const DEFAULT_MAX_BACKOFF_MS = 30_000
/** Stands in for the namespace an operation does not have, as in the names we give our own tools. */
const TOOLKIT = 'callplane'

type RequestContext = Pick<
  BackendContext,
  'key' | 'sessionId' | 'caller' | 'operation' | 'terms' | 'traceparent' | 'tryNumber'
>

/** `mode` is the Contract's word for the backend; `tool` what the other side calls the tool, if not by our name. */
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
    // docs/readings.md#a2: whatever is no object goes as text, and wins over the empty object.
    input_raw: isJsonObject(args) ? '' : encodeRaw(args),
    runtime: {
      mode,
      // 0: no limit of its own.
      timeout_ms: terms.timeoutMs ?? 0,
      max_attempts: terms.retry.attempts,
      backoff: 'exponential',
      max_backoff_ms: terms.retry.maxBackoffMs ?? DEFAULT_MAX_BACKOFF_MS,
      jitter: (terms.retry.jitter ?? 'none') !== 'none',
      attempt: context.tryNumber,
    },
    // The secret's name and never the secret: that one travels in a header.
    auth: { profile: auth?.profile ?? '', secret_ref: auth?.secretRef ?? '', scopes: auth?.scopes ?? [] },
    trace: traceOf(context.traceparent),
  }
}

/** Arguments as the body of a raw call: text as it is, anything else as JSON. */
export function encodeRaw(args: unknown): string {
  return typeof args === 'string' ? args : (JSON.stringify(args) ?? '')
}

function traceOf(traceparent: string | undefined): Trace {
  const { traceId = '', spanId = '' } = parseTraceparent(traceparent) ?? {}
  return { trace_id: traceId, span_id: spanId }
}

/** The output of a strict answer, or the fault it tells of. docs/readings.md#a13 and #a14. */
export function decodeResponse(text: string, expectedRequestId: string): JsonObject {
  return outputOf(parseResponse(parseText(text), expectedRequestId))
}

/** A ToolExecutionResponse whose status, version and request id are as they must be; the rest is read with tolerance. */
export interface CheckedResponse {
  status: ToolStatus
  body: JsonObject
}

/** Without a request id to expect, the answer's own is not looked at: the tool was never told ours. */
export function parseResponse(value: JsonValue, expectedRequestId: string | undefined): CheckedResponse {
  const status = isJsonObject(value) ? statusOf(value) : undefined
  if (!isJsonObject(value) || status === undefined) {
    throw badAnswer('is no ToolExecutionResponse: "status" must be ok, error or denied')
  }
  const { tool_contract_version: version, request_id: requestId } = value
  if (version !== undefined && version !== '' && !(typeof version === 'string' && /^v1(?:\.\d+)*$/.test(version))) {
    throw badAnswer('is of another version of the Tool Contract; it must be v1')
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

/** docs/readings.md#a12: what tells an envelope from a body that merely has a field named "status". */
export function isEnvelope(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value) || statusOf(value) === undefined) return false
  return value.tool_contract_version !== undefined || isJsonObject(value.output) || isJsonObject(value.error)
}

/** docs/readings.md#a12: an envelope is opened, another object is the result, other text is `{ result: text }`. */
export function decodeRaw(text: string): JsonObject {
  const value = tryParse(text)
  if (!isJsonObject(value)) return { result: text }
  return isEnvelope(value) ? outputOf(parseResponse(value, undefined)) : value
}

/** The same of what a program wrote. */
export function decodeRawBytes(bytes: Uint8Array): JsonObject {
  return decodeRaw(textOf(bytes))
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('upstream', 'The tool wrote something that is not UTF-8 text. Have it write JSON.', {
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
  // A denial stays one, whatever code it came with.
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
    throw new Fault('upstream', broken ? 'The tool answered with something that is not JSON.' : message, {
      code: 'BAD_ANSWER',
      retryable: broken,
      cause: thrown,
    })
  }
}

/** Nothing for a text that is not JSON, or not JSON that we would keep. */
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
  return new Fault('upstream', `The tool's answer ${problem}. Have the tool's developer correct it.`, {
    code: 'BAD_ANSWER',
    retryable: false,
  })
}

/** The text of a tool's answer to a POST with the operation's credential, or the fault that its status means. */
export async function postToTool(
  { remote, clock }: Pick<BackendParts, 'remote' | 'clock'>,
  context: Pick<BackendContext, 'credential' | 'signal'>,
  { headers, ...request }: Omit<RemoteRequest, 'method' | 'signal'>,
): Promise<string> {
  const { signal } = context
  const answer = await sendWithCredential(
    context,
    (credential) => remote.send({ ...request, method: 'POST', headers: { ...headers, ...credential }, signal }),
    ({ status }) => status === 401,
  )
  if (answer.status >= 200 && answer.status < 300) return answer.text
  throw faultOfStatus(answer.status, parseRetryAfter(answer.header('retry-after'), clock.now()))
}

/** What an HTTP status means that is no success. docs/readings.md#a10 and #a11. */
export function faultOfStatus(status: number, retryAfterMs?: number): Fault {
  const details = { http_status: status }
  if (status === 401) {
    return new Fault('credential-invalid', 'The tool does not accept our credential (401). Check its secret.', {
      details,
    })
  }
  if (status === 403) {
    return new Fault(
      'credential-forbidden',
      'The tool accepts our credential but not for this (403). Widen its rights.',
      {
        details,
      },
    )
  }
  const retryable = status === 429 || status >= 500
  const advice = retryable ? 'Try again later.' : 'Check the declaration of this operation and its arguments.'
  return new Fault('upstream', `The tool answered ${status}. ${advice}`, {
    retryable,
    details,
    ...(retryable && retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** Seconds, or a date; nothing for anything else. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text.trim())) return Number(text.trim()) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
