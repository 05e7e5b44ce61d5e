/** Encodes replies and faults as HTTP responses. OpenCALL, "HTTP Status Code Semantics". */

import type { ResultLocation } from '../../../core/call/instance.ts'
import type { Reply } from '../../../core/call/reply.ts'
import type { Fault } from '../../../core/fault.ts'
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import { type AddressSettings, locate } from '../addresses.ts'
import { encodeRefusal, encodeReply, encodeResult } from '../codec.ts'
import { statusOf } from '../faults.ts'
import type { Location, Meta } from '../wire.ts'
import { prefersRedirect } from './prefer.ts'

/** Responses are for one caller only, so caches must not store them. */
export const JSON_HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

export function jsonAnswer(status: number, value: unknown, extra?: Record<string, string>): Answer {
  return { status, headers: extra ? { ...JSON_HEADERS, ...extra } : JSON_HEADERS, body: JSON.stringify(value) }
}

export function refusalAnswer(fault: Fault, requestId: string, sessionId?: string): Answer {
  const envelope = encodeRefusal(fault, requestId, sessionId)
  return jsonAnswer(statusOf(fault), envelope, retryHeaders(fault))
}

function retryHeaders(fault: Fault): Record<string, string> | undefined {
  if (fault.kind === 'unauthenticated') return { 'WWW-Authenticate': 'Bearer' }
  return fault.retryAfterMs === undefined ? undefined : { 'Retry-After': String(Math.ceil(fault.retryAfterMs / 1000)) }
}

/** Sends the client to the object store. No cache may keep the address: it works for everyone who has it. */
export function redirectAnswer(requestId: string, uri: string): Answer {
  return jsonAnswer(303, { requestId, state: 'complete', location: { uri } }, { Location: uri })
}

/** Response to the POST that made the call. */
export function callAnswer(reply: Reply, exchange: Exchange, settings: AddressSettings, meta?: Meta): Answer {
  if (reply.state === 'error') {
    const failed = statusOf(reply.fault)
    // docs/readings.md#r01: a domain error is 200 for a sync operation and 202 for an async one. Every fault of a
    // handler that is not a system failure counts as a domain error, because 4xx means that the call did not run.
    // If a handler reports that its operation is removed, the status is that of a removed operation.
    const stands = failed >= 500 || reply.fault.kind === 'removed'
    const status = stands ? failed : reply.model === 'async' ? 202 : 200
    return jsonAnswer(status, encodeReply(reply, neverLocated, meta), retryHeaders(reply.fault))
  }
  return progressAnswer(reply, exchange, settings, meta)
}

/** Response to a poll: 200 for every ended call, also for errors (docs/readings.md#r02 and #r03). */
export function pollAnswer(reply: Reply, exchange: Exchange, settings: AddressSettings): Answer {
  if (reply.state === 'error') return jsonAnswer(200, encodeReply(reply, neverLocated))
  return progressAnswer(reply, exchange, settings)
}

function progressAnswer(reply: Reply, exchange: Exchange, settings: AddressSettings, meta?: Meta): Answer {
  if (reply.state === 'complete' && 'result' in reply) {
    return { status: 200, headers: JSON_HEADERS, body: encodeResult(reply, meta) }
  }
  const redirect =
    reply.state === 'complete' && 'location' in reply && followable(reply.location, prefersRedirect(exchange))
  const envelope = encodeReply(reply, () => locate(reply, exchange.origin, redirect ? settings : undefined), meta)
  if (!redirect) return jsonAnswer(202, envelope)
  return jsonAnswer(303, envelope, { Location: envelope.location?.uri ?? '' })
}

/**
 * True if a generic client can follow the address, and the handler or client wants a redirect (docs/readings.md#r04).
 */
function followable(location: ResultLocation, preferred: boolean): boolean {
  if (location.kind === 'chunks') return false
  if (location.kind === 'external' && (location.auth !== undefined || !/^https?:/i.test(location.uri))) return false
  return location.redirect || preferred
}

function neverLocated(): Location {
  return { uri: '' }
}
