/** MCP's HTTP responses for refusals, with the headers that tell a client how to proceed. */

import type { Fault } from '../../../core/fault.ts'
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import { encodeError, missingScopes, statusOf } from '../faults.ts'
import { encodeErrorResponse } from '../rpc.ts'
import type { Generation, RequestId } from '../wire.ts'

/** Shared by all responses. Results are for one caller only, so caches must not store them. */
export const HEADERS: Record<string, string> = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

/** The path that RFC 9728 defines for a resource at `/mcp`. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp'

/** GET only opens a stream for a session of the older revisions. DELETE is not supported. */
export const METHOD_REFUSED: Answer = {
  status: 405,
  headers: { ...HEADERS, Allow: 'POST' },
  body: encodeErrorResponse(null, { code: -32000, message: 'This path accepts only POST.' }),
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

/** RFC 6750 and RFC 9728: the address of the token issuers, and the scopes that the next token needs. */
function challenge(fault: Fault, origin: string): string {
  const fields = [`resource_metadata="${origin}${METADATA_PATH}"`]
  const scopes = missingScopes(fault)
  if (scopes) {
    fields.unshift('error="insufficient_scope"')
    fields.push(`scope="${scopes.filter(isScope).join(' ')}"`)
  } else if (fault.code !== 'AUTH_REQUIRED') fields.unshift('error="invalid_token"')
  return `Bearer ${fields.join(', ')}`
}

/** RFC 6749, "Access Token Scope": the characters that are allowed in quotes. */
function isScope(scope: unknown): boolean {
  return typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)
}
