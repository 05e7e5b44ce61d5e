/** The Tool Contract: the envelope that agent runtimes send to their tools. */
import { sliceOf } from './json-slice.ts'
import { unreadable } from './opencall.ts'
import { parseObject } from './parse-json.ts'
import { refusalOfTools } from './refusals.ts'
import type { Failure, Outcome, Wire, WireCall, WireRequest, WireResponse } from './wire.ts'

export const contract: Wire = { id: 'contract', title: 'Tool Contract', refusal: refusalOfTools, encode, decode }

/** The request id is the idempotency key, too. */
function encode({ tool, entry, argsText, idempotencyKey }: WireCall): WireRequest {
  const name = JSON.stringify(tool?.name ?? entry.op)
  return {
    method: 'POST',
    path: 'tool-contract/v1/execute',
    headers: { 'Content-Type': 'application/json', 'X-Tool-Contract-Version': 'v1' },
    body: `{"tool_contract_version":"v1","request_id":${JSON.stringify(idempotencyKey)},"tool":{"name":${name},"operation":"invoke"},"input":${argsText}}`,
  }
}

interface Answer {
  status?: string
  output?: { result?: string; location?: string; mime_type?: string; auth?: { credential?: string } }
  error?: {
    code: string
    message: string
    retryable?: boolean
    details?: { still_running?: boolean; retry_after_ms?: number }
  }
}

function decode(response: WireResponse, call: WireCall): Outcome {
  const { text } = response
  const { status, output, error } = parseObject<Answer>(text)
  if (error) {
    if (error.details?.still_running) {
      const retryAfterMs = error.details.retry_after_ms ?? 1_000
      return { kind: 'running', requestId: call.requestId, retryAfterMs, next: encode(call) }
    }
    const { code, message, retryable } = error
    const failure: Failure = { kind: 'failure', code, message, details: sliceOf(text, 'error', 'details') ?? '{}' }
    if (retryable !== undefined) failure.retryable = retryable
    return failure
  }
  if (status !== 'ok' || !output) return unreadable(response)
  const { location, mime_type: mimeType, auth, result = 'null' } = output
  if (typeof location === 'string' && (call.entry.chunked === true || /\/(?:objects|ops)\//.test(location))) {
    const json = sliceOf(text, 'output', 'value')
    return {
      kind: 'file',
      uri: location,
      ...(mimeType !== undefined && { mimeType }),
      ...(auth?.credential !== undefined && { auth: auth.credential }),
      ...(json !== undefined && { json }),
    }
  }
  return { kind: 'result', json: resultOf(result, Object.keys(output).length > 1, call) }
}

/**
 * A value that is not an object comes as text, and so does a string. Whether "5" is a number or a string is known only
 * from the schema of the result.
 */
function resultOf(text: string, isObject: boolean, { entry }: WireCall): string {
  if (isObject || (entry.resultSchema?.type !== 'string' && isJson(text))) return text
  return JSON.stringify(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
