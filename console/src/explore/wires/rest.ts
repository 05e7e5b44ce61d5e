/** The Tool Execution API: the body is the arguments, the response is MCP's result of a tool. */
import { sliceOf } from './json-slice.ts'
import { isKeyed, unreadable } from './opencall.ts'
import { parseObject } from './parse-json.ts'
import { refusalOfTools } from './refusals.ts'
import { plainValue } from './tool-result.ts'
import type { Failure, Outcome, Wire, WireCall, WireRequest, WireResponse } from './wire.ts'

export const rest: Wire = { id: 'rest', title: 'Tool Execution', refusal: refusalOfTools, encode, decode }

function encode({ tool, entry, argsText, idempotencyKey }: WireCall): WireRequest {
  return {
    method: 'POST',
    path: `tools/${encodeURIComponent(tool?.name ?? entry.op)}/call`,
    headers: {
      'Content-Type': 'application/json',
      // Keeps a repeat of the request from running an async operation again.
      ...((isKeyed(entry) || entry.executionModel === 'async') && { 'Idempotency-Key': idempotencyKey }),
    },
    body: argsText,
  }
}

interface Answer {
  error?: string
  isError?: boolean
  content?: { type: string; text?: string; data?: string; mimeType?: string; uri?: string }[]
  structuredContent?: { code?: string; retryable?: boolean; retryAfterMs?: number; uri?: string; mimeType?: string }
}

function decode(response: WireResponse, call: WireCall): Outcome {
  const { text } = response
  const plain = plainValue(text)
  if (plain !== undefined) return { kind: 'result', json: plain }
  const { error, isError, content = [], structuredContent = {} } = parseObject<Answer>(text)
  if (error !== undefined) return { kind: 'failure', message: error }
  const [first] = content
  if (!first) return unreadable(response)
  const { uri, mimeType, code, retryable, retryAfterMs = 1_000 } = structuredContent
  if (isError) {
    if (code === 'STILL_RUNNING')
      return { kind: 'running', requestId: call.requestId, retryAfterMs, next: encode(call) }
    const failure: Failure = { kind: 'failure', message: first.text ?? '' }
    if (code !== undefined) failure.code = code
    if (retryable !== undefined) failure.retryable = retryable
    failure.details = sliceOf(text, 'structuredContent') ?? '{}'
    return failure
  }
  if (typeof uri === 'string') {
    const json = sliceOf(text, 'structuredContent', 'value')
    return { kind: 'file', uri, ...(mimeType !== undefined && { mimeType }), ...(json !== undefined && { json }) }
  }
  return { kind: 'result', json: withoutTrace(text) }
}

/** The operation returned a tool result itself. Only the trace id is the server's. */
function withoutTrace(text: string): string {
  const { _meta, ...own } = JSON.parse(text) as Record<string, unknown>
  return JSON.stringify(own)
}
