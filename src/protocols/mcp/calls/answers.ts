/** MCP's HTTP answers that are no results: refusals, and what a client needs to get past them. */

import type { Fault } from '../../../core/fault.ts'
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import { encodeError, missingScopes, statusOf } from '../faults.ts'
import { encodeErrorResponse } from '../rpc.ts'
import type { Generation, RequestId } from '../wire.ts'

/** One object for all answers. What a tool says is for its caller, now. */
export const HEADERS: Record<string, string> = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

/** Where RFC 9728 has it for a resource at `/mcp`. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp'

/** A GET opens a stream for a session of the older revisions only, and no session is ended. */
export const METHOD_REFUSED: Answer = {
  status: 405,
  headers: { ...HEADERS, Allow: 'POST' },
  body: encodeErrorResponse(null, { code: -32000, message: 'This path takes POST.' }),
}

export function refusalAnswer(
  fault: Fault,
  id: RequestId | null,
  generation: Generation,
  exchange: Pick<Exchange, 'origin'>,
): Answer {
  const status = statusOf(fault, generation)
  return {
    status,
    headers: { ...HEADERS, ...hints(fault, status, exchange) },
    body: encodeErrorResponse(id, encodeError(fault)),
  }
}

function hints(fault: Fault, status: number, { origin }: Pick<Exchange, 'origin'>): Record<string, string> {
  if (status === 401 || missingScopes(fault)) return { 'WWW-Authenticate': challenge(fault, origin) }
  const { retryAfterMs } = fault
  return retryAfterMs === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) }
}

/** RFC 6750 and RFC 9728: where to learn who gives out tokens, and which scopes the next one needs. */
function challenge(fault: Fault, origin: string): string {
  const fields = [`resource_metadata="${origin}${METADATA_PATH}"`]
  const scopes = missingScopes(fault)
  if (scopes) {
    fields.unshift('error="insufficient_scope"')
    fields.push(`scope="${scopes.filter(isScope).join(' ')}"`)
  } else if (fault.code !== 'AUTH_REQUIRED') fields.unshift('error="invalid_token"')
  return `Bearer ${fields.join(', ')}`
}

/** RFC 6749, "Access Token Scope": what may stand between quotes. */
function isScope(scope: unknown): boolean {
  return typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)
}
