/** HTTP responses of the Tool Execution API, with their exact bodies. */

import { Fault } from '../../core/fault.ts'
import type { Answer, Refusal } from '../../core/ports/exchange.ts'
import { encodeFailure } from './codec.ts'
import { callStatusOf, errorOf, isResultOnCall, statusOf } from './faults.ts'
import type { EncodedResult } from './wire.ts'

/** Caches must not store any response: the tools and their results are for this caller only. */
const HEADERS: Record<string, string> = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, headers: HEADERS, body: JSON.stringify(value) }
}

export function resultAnswer(result: EncodedResult): Answer {
  if (typeof result === 'string') return { status: 200, headers: HEADERS, body: result }
  return jsonAnswer(result.isError ? 500 : 200, result)
}

export const EXECUTION_DISABLED: Answer = jsonAnswer(403, { error: 'Tool execution is disabled.' })
export const UNAUTHORIZED: Answer = jsonAnswer(401, { error: 'Unauthorized' })

export function toolNotFound(name: string): Answer {
  return jsonAnswer(404, { error: `Tool not found: ${name}` })
}

/** A page of another site can send this kind of request without a preflight. docs/readings.md#rest-8. */
export const FOREIGN_FORM: Answer = jsonAnswer(403, {
  error: 'A page of another site sent this request without a JSON content type. Send Content-Type: application/json.',
})

export function errorAnswer(fault: Fault): Answer {
  const { status, headers, body } = jsonAnswer(statusOf(fault), { error: errorOf(fault) })
  if (fault.kind !== 'unauthenticated') return { status, headers, body: body as string }
  return { status, headers: { ...headers, 'WWW-Authenticate': 'Bearer' }, body: body as string }
}

export function callFaultAnswer(fault: Fault, traceId?: string): Answer {
  return isResultOnCall(fault) ? jsonAnswer(callStatusOf(fault), encodeFailure(fault, traceId)) : errorAnswer(fault)
}

/** Response to a request that did not reach a handler. It is always JSON (docs/readings.md#rest-1). */
export function refusalAnswer(why: Refusal): Answer {
  switch (why.kind) {
    case 'fault':
      return errorAnswer(why.fault)
    case 'path':
      return errorAnswer(new Fault('not-found', 'There is nothing at this path.'))
    case 'method': {
      const allow = why.allow.join(', ')
      const { status, headers, body } = jsonAnswer(405, { error: `This path accepts only ${allow}.` })
      return { status, headers: { ...headers, Allow: allow }, body: body as string }
    }
  }
}
