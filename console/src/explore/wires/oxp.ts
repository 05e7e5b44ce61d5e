/** OXP with plain bodies, and OTC, which wraps them. */
import { sliceOf } from './json-slice.ts'
import { unreadable } from './opencall.ts'
import { parseObject } from './parse-json.ts'
import { refusalOfTools } from './refusals.ts'
import type { Failure, Outcome, Wire, WireCall, WireRequest, WireResponse } from './wire.ts'

export const oxp: Wire = {
  id: 'oxp',
  title: 'OXP',
  refusal: refusalOfTools,
  encode: encodeOxp,
  decode: decoder(encodeOxp),
}

export const otc: Wire = {
  id: 'otc',
  title: 'OTC',
  refusal: refusalOfTools,
  encode: encodeOtc,
  decode: decoder(encodeOtc, 'result'),
}

function encodeOxp(call: WireCall): WireRequest {
  const headers = { 'Content-Type': 'application/json', 'OXP-Version': '1.0' }
  return { method: 'POST', path: 'tools/call', headers, body: encodeCall(call) }
}

function encodeOtc(call: WireCall): WireRequest {
  const headers = { 'Content-Type': 'application/json' }
  const body = `{"$schema":"otc://1.0","request":${encodeCall(call)}}`
  return { method: 'POST', path: 'otc/tools/call', headers, body }
}

/** The call id is the idempotency key, too. */
function encodeCall({ tool, entry, argsText, idempotencyKey }: WireCall): string {
  const id = JSON.stringify(tool?.id ?? entry.op)
  return `{"tool_id":${id},"call_id":${JSON.stringify(idempotencyKey)},"input":${argsText}}`
}

interface Answer {
  success?: boolean
  value?: unknown
  error?: { message: string; can_retry?: boolean; still_running?: boolean; retry_after_ms?: number }
  message?: string
}

function decoder(encode: (call: WireCall) => WireRequest, ...path: string[]) {
  return (response: WireResponse, call: WireCall): Outcome => {
    const { text, status } = response
    const value = sliceOf(text, ...path, 'value')
    if (value !== undefined) return resultOf(value, call)
    const answer = parseObject<Answer>(status === 200 ? (sliceOf(text, ...path) ?? '') : text)
    const { error, message } = answer
    if (error?.still_running) {
      const retryAfterMs = error.retry_after_ms ?? 1_000
      return { kind: 'running', requestId: call.requestId, retryAfterMs, next: encode(call) }
    }
    if (error) {
      const failure: Failure = { kind: 'failure', message: error.message, details: JSON.stringify(error) }
      if (error.can_retry !== undefined) failure.retryable = error.can_retry
      return failure
    }
    return message === undefined ? unreadable(response) : { kind: 'failure', message, details: text }
  }
}

/** A result with bytes is an address. Only the declaration tells it from a value with such fields. */
function resultOf(json: string, { entry }: WireCall): Outcome {
  const { uri, mimeType, auth } = parseObject<{ uri?: string; mimeType?: string; auth?: { credential?: string } }>(json)
  const isFile = typeof uri === 'string' && (entry.chunked === true || /\/(?:objects|ops)\//.test(uri))
  if (!isFile) return { kind: 'result', json }
  const accompanying = sliceOf(json, 'value')
  return {
    kind: 'file',
    uri,
    ...(mimeType !== undefined && { mimeType }),
    ...(auth?.credential !== undefined && { auth: auth.credential }),
    ...(accompanying !== undefined && { json: accompanying }),
  }
}
