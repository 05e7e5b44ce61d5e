/** Between the engine's values and MCP's CallToolResult. */
import type { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply } from '../../core/reply.ts'
import type { CallToolResult, Content, EncodedResult, ToolAnnotations, ToolDetail } from './wire.ts'

/** `_meta` is left out where there is no trace id. */
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
 * A text is content as it is; everything else is shown as JSON, and given as a value beside it. As text at once: the
 * objects in between cost more than all else about it. `traceId` holds nothing that JSON escapes.
 */
export function encodeValue(value: JsonValue, traceId: string): EncodedResult {
  if (isToolResult(value)) return withTrace(value, traceId)
  // What a handler without a schema returns may be nothing that JSON knows.
  const json = JSON.stringify(value) ?? 'null'
  const trace = `"isError":false,"_meta":{"_trace_id":"${traceId}"}`
  if (typeof value === 'string') return `{"content":[{"type":"text","text":${json}}],${trace}}`
  const structured = isJsonObject(value) ? json : `{"result":${json}}`
  return `{"content":[{"type":"text","text":${JSON.stringify(json)}}],"structuredContent":${structured},${trace}}`
}

const RESULT_FIELDS = ['content', 'structuredContent', 'isError', '_meta']

/** What an operation returns that knows MCP: nothing but the fields of a CallToolResult. */
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

/** The message of an exception is shown without secrets, its stack is not: docs/readings.md#rest-5. */
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

/** docs/readings.md#rest-3: JSON, but not arguments. */
export function notAnObject(traceId: string | undefined): CallToolResult {
  const errors = [{ path: '', message: 'must be object', keyword: 'type' }]
  return encodeResult([text('The arguments must be a JSON object.')], true, traceId, {
    code: 'VALIDATION_ERROR',
    retryable: false,
    errors,
  })
}

/** There is no polling here: whoever wants the outcome asks again, or elsewhere. */
export function encodePending(
  reply: Extract<Reply, { state: 'accepted' | 'pending' }>,
  traceId: string,
  uri: string,
  key: string | undefined,
): CallToolResult {
  const again = key === undefined ? '' : ` Or send the same request again with the header "Idempotency-Key: ${key}".`
  return encodeResult([text(`This is still running. Ask for the outcome at ${uri}.${again}`)], true, traceId, {
    code: 'STILL_RUNNING',
    retryable: key !== undefined,
    retryAfterMs: reply.retryAfterMs,
    uri,
    ...(key !== undefined && { idempotencyKey: key }),
  })
}

/** Only what is known is said: whether an effect destroys something, an operation does not tell. */
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
