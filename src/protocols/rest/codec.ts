/** Converts the engine's replies and faults to MCP's CallToolResult. */

import type { Reply } from '../../core/call/reply.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { CallToolResult, Content, EncodedResult, ToolAnnotations, ToolDetail } from './wire.ts'

/** `_meta` is left out if there is no trace id. */
export function encodeResult(
  content: readonly Content[],
  isError: boolean,
  traceId: string | null | undefined,
  structuredContent?: JsonObject,
): CallToolResult {
  const result: CallToolResult = structuredContent ? { content, structuredContent, isError } : { content, isError }
  if (typeof traceId === 'string' && traceId !== '') result._meta = { _trace_id: traceId }
  return result
}

export function text(said: string): Content {
  return { type: 'text', text: said }
}

/**
 * A string becomes text content. Any other value becomes JSON text, plus `structuredContent`. The JSON is built as a
 * string, because intermediate objects cost more than the rest of the encoding. `traceId` needs no JSON escapes.
 */
export function encodeValue(value: JsonValue, traceId: string): EncodedResult {
  if (isToolResult(value)) return withTrace(value, traceId)
  // A handler without a schema may return a value that JSON cannot represent.
  const json = JSON.stringify(value) ?? 'null'
  const trace = `"isError":false,"_meta":{"_trace_id":"${traceId}"}`
  if (typeof value === 'string') return `{"content":[{"type":"text","text":${json}}],${trace}}`
  const structured = isJsonObject(value) ? json : `{"result":${json}}`
  return `{"content":[{"type":"text","text":${JSON.stringify(json)}}],"structuredContent":${structured},${trace}}`
}

const RESULT_FIELDS = ['content', 'structuredContent', 'isError', '_meta']

/** True if the operation returned a CallToolResult itself: the value has no other fields. */
function isToolResult(value: JsonValue): value is JsonObject & { content: JsonObject[] } {
  if (!isJsonObject(value) || !Array.isArray(value.content)) return false
  if (!value.content.every((item) => isJsonObject(item) && typeof item.type === 'string')) return false
  return Object.keys(value).every((key) => RESULT_FIELDS.includes(key))
}

function withTrace(value: JsonObject & { content: JsonObject[] }, traceId: string): CallToolResult {
  const { content, structuredContent, isError, _meta } = value
  return {
    content: content as unknown as Content[],
    ...(isJsonObject(structuredContent) && { structuredContent }),
    isError: isError === true,
    _meta: { ...(isJsonObject(_meta) && _meta), _trace_id: traceId },
  }
}

/** Shows the message of an exception without secrets, and never its stack (docs/readings.md#rest-5). */
export function encodeFailure(fault: Fault, traceId: string | undefined): CallToolResult {
  const { code, retryable, retryAfterMs, details, promptContent } = fault
  const { issues, ...facts } = details ?? {}
  const content = [text(fault.exceptionText ?? fault.message)]
  if (promptContent !== undefined) content.push(text(promptContent))
  return encodeResult(content, true, traceId, {
    ...facts,
    code,
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(issues !== undefined && { errors: issues }),
  })
}

/** The body is JSON but not an object (docs/readings.md#rest-3). */
export function notAnObject(traceId: string | undefined): CallToolResult {
  const errors = [{ path: '', message: 'must be object', keyword: 'type' }]
  return encodeResult([text('The arguments must be a JSON object.')], true, traceId, {
    code: 'VALIDATION_ERROR',
    retryable: false,
    errors,
  })
}

/** This protocol has no polling. The result tells the client to repeat the request, or to poll OpenCALL's address. */
export function encodePending(
  reply: Extract<Reply, { state: 'accepted' | 'pending' | 'streaming' }>,
  traceId: string,
  uri: string,
  key: string | undefined,
): CallToolResult {
  const again = key === undefined ? '' : ` Or send the same request again with the header "Idempotency-Key: ${key}".`
  return encodeResult([text(`This is still running. Poll ${uri} for the outcome.${again}`)], true, traceId, {
    code: 'STILL_RUNNING',
    retryable: key !== undefined,
    retryAfterMs: reply.retryAfterMs,
    uri,
    ...(key !== undefined && { idempotencyKey: key }),
  })
}

/** Sets only known hints. An operation does not declare whether its effects are destructive. */
export function annotationsOf(operation: Operation): ToolAnnotations {
  return { readOnlyHint: !operation.sideEffecting }
}

export function encodeTool(name: string, operation: Operation): ToolDetail {
  return {
    name,
    description: operation.description,
    inputSchema: operation.schemas.args,
    annotations: annotationsOf(operation),
  }
}
