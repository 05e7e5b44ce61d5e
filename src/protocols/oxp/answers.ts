/** OXP's HTTP responses. Refusals use the dialect of the request. */

import type { Fault } from '../../core/fault.ts'
import type { Answer, Refusal } from '../../core/ports/exchange.ts'
import { marked } from './codec.ts'
import { encodeRefusal, statusOf } from './faults.ts'
import { type Dialect, OXP_VERSION } from './wire.ts'

/** Shared by all responses. Responses are for one client only, so caches must not store them. */
export const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'OXP-Version': OXP_VERSION,
}

export function answer(status: number, body: object, extra?: Record<string, string>): Answer {
  return { status, headers: extra ? { ...HEADERS, ...extra } : HEADERS, body: JSON.stringify(body) }
}

export function refusalAnswer(fault: Fault, status: number, dialect: Dialect): Answer {
  return answer(status, marked(dialect, encodeRefusal(fault)), hints(fault, status))
}

function hints({ retryAfterMs }: Fault, status: number): Record<string, string> | undefined {
  if (status === 401) return { 'WWW-Authenticate': 'Bearer' }
  return retryAfterMs === undefined ? undefined : { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) }
}

/** Response to a request that did not reach a route's handler. */
export function refusal(why: Refusal, dialect: Dialect): Answer {
  switch (why.kind) {
    case 'fault':
      return refusalAnswer(why.fault, statusOf(why.fault), dialect)
    case 'path':
      return answer(404, marked(dialect, { message: 'There is nothing at this path.' }))
    case 'method': {
      const allow = why.allow.join(', ')
      return answer(405, marked(dialect, { message: `This path accepts only ${allow}.` }), { Allow: allow })
    }
  }
}
