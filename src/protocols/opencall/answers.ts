/** Replies and faults as HTTP answers. OpenCALL, "HTTP Status Code Semantics". */

import type { Fault } from '../../core/fault.ts'
import type { ResultLocation } from '../../core/instance.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Reply } from '../../core/reply.ts'
import { encodeRefusal, encodeReply, encodeResult, epochSeconds } from './codec.ts'
import { statusOf } from './faults.ts'
import type { Location, ResponseEnvelope } from './wire.ts'

/** Invocations and their states belong to one caller at one moment; no intermediary may keep them. */
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

export interface AddressSettings {
  env: Environment
  /** With authentication on, only a signed link can be followed without a credential. */
  signLinks: boolean
}

/** To the POST that made the call. */
export function callAnswer(reply: Reply, exchange: Exchange, settings: AddressSettings): Answer {
  if (reply.state === 'error') {
    const failed = statusOf(reply.fault)
    // docs/readings.md#r01: a business failure is 200 for a sync operation, 202 for an async one. Whatever
    // the handler threw that is not the system's fault is one: 4xx is for calls that were refused and never ran.
    // An operation that says it is gone is refused like one that is.
    const stands = failed >= 500 || reply.fault.kind === 'removed'
    const status = stands ? failed : reply.model === 'async' ? 202 : 200
    return jsonAnswer(status, encodeReply(reply, neverLocated), retryHeaders(reply.fault))
  }
  return progressAnswer(reply, exchange, settings)
}

/** To a poll. docs/readings.md#r02 and #r03: whatever has ended is 200, an error included. */
export function pollAnswer(reply: Reply, exchange: Exchange, settings: AddressSettings): Answer {
  if (reply.state === 'error') return jsonAnswer(200, encodeReply(reply, neverLocated))
  return progressAnswer(reply, exchange, settings)
}

function progressAnswer(reply: Reply, exchange: Exchange, settings: AddressSettings): Answer {
  if (reply.state === 'complete' && 'result' in reply) {
    return { status: 200, headers: JSON_HEADERS, body: encodeResult(reply) }
  }
  const redirect =
    reply.state === 'complete' && 'location' in reply && followable(reply.location, prefersRedirect(exchange))
  const envelope = encodeReply(reply, () => locate(reply, exchange.origin, redirect ? settings : undefined))
  if (!redirect) return jsonAnswer(202, envelope)
  return jsonAnswer(303, envelope, { Location: envelope.location?.uri ?? '' })
}

/** A reply as it stands in a poll, for those who get it another way. */
export function replyEnvelope(reply: Reply, exchange: Pick<Exchange, 'origin'>): ResponseEnvelope {
  return encodeReply(reply, () => locate(reply, exchange.origin))
}

/** docs/readings.md#r04: a redirect only where a generic client may follow it, and only if somebody asked for one. */
function followable(location: ResultLocation, preferred: boolean): boolean {
  if (location.kind === 'chunks') return false
  if (location.kind === 'external' && (location.auth !== undefined || !/^https?:/i.test(location.uri))) return false
  return location.redirect || preferred
}

function prefersRedirect(exchange: Exchange): boolean {
  return /(?:^|,)\s*redirect\s*(?:$|[,;])/i.test(exchange.header('prefer') ?? '')
}

/** Where a result is that a reply only points at, for protocols that have no addresses of their own. */
export function locateResult(
  reply: Extract<Reply, { location: ResultLocation }>,
  origin: string,
): Location & { mimeType?: string } {
  const { location } = reply
  return { ...locate(reply, origin), ...('mimeType' in location && { mimeType: location.mimeType }) }
}

/** `redirect` is given where a generic client will follow the address, so without a credential. */
function locate(reply: Reply, origin: string, redirect?: AddressSettings): Location {
  if (!('location' in reply)) return { uri: callAddress(origin, reply.requestId) }
  const { location } = reply
  switch (location.kind) {
    case 'chunks':
      return {
        uri: `${callAddress(origin, reply.requestId)}/chunks`,
        mimeType: location.mimeType,
        ...(location.value !== undefined && { value: location.value }),
      }
    case 'object': {
      const path = objectPath(location.objectId)
      return {
        uri: origin + (redirect?.signLinks ? signedPath(path, reply.expiresAt ?? 0, redirect.env) : path),
      }
    }
    case 'external': {
      const { uri, auth } = location
      if (!auth) return { uri }
      const { credentialType, credential, expiresAtMs } = auth
      return {
        uri,
        auth: {
          credentialType,
          credential,
          ...(expiresAtMs !== undefined && { expiresAt: epochSeconds(expiresAtMs) }),
        },
      }
    }
  }
}

function callAddress(origin: string, requestId: string): string {
  return `${origin}/ops/${encodeURIComponent(requestId)}`
}

/** Object ids are `owner/name`; on the wire they are one segment. An owner holds no dot, so the first one is ours. */
export function objectPath(objectId: string): string {
  return `/objects/${encodeURIComponent(objectId.replace('/', '.'))}`
}

export function objectIdIn(segment: string): string {
  return segment.replace('.', '/')
}

function signedPath(path: string, expiresAt: number, env: Environment): string {
  return `${path}?expires=${expiresAt}&signature=${env.sign(`${path}?expires=${expiresAt}`)}`
}

/** Whether the query carries a link's signature that still holds. */
export function isSigned(path: string, query: string, env: Environment): boolean {
  const match = /^expires=(\d{1,16})&signature=([\w-]+)$/.exec(query)
  if (!match) return false
  const [, expires, signature] = match
  // The comparison is over a keyed hash: learning where it differs teaches nothing about the next one.
  return Number(expires) > env.clock.now() && env.sign(`${path}?expires=${expires}`) === signature
}

function neverLocated(): Location {
  return { uri: '' }
}
