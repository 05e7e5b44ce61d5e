/** The addresses of calls, results and objects, and the signed links that a client follows without a credential. */

import type { ResultLocation } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { encodeReply, epochSeconds } from './codec.ts'
import type { Location, Meta, ResponseEnvelope } from './wire.ts'

export interface AddressSettings {
  env: Environment
  /** If authentication is on, a client without a credential can only follow a signed link. */
  signLinks: boolean
}

/** Returns the envelope of a poll response, for event streams and messages. */
export function replyEnvelope(reply: Reply, client: { readonly origin: string }, meta?: Meta): ResponseEnvelope {
  return encodeReply(reply, () => locate(reply, client.origin), meta)
}

/** Returns the address of a result that is not in the reply, for protocols that serve no addresses themselves. */
export function locateResult(
  reply: Extract<Reply, { location: ResultLocation }>,
  origin: string,
): Location & { mimeType?: string } {
  const { location } = reply
  return { ...locate(reply, origin), ...('mimeType' in location && { mimeType: location.mimeType }) }
}

/** `redirect` is set if a generic client will follow the address without a credential. */
export function locate(reply: Reply, origin: string, redirect?: AddressSettings): Location {
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

/** Object ids are `owner/name`. In a path, the first dot replaces the slash, because an owner contains no dot. */
function objectPath(objectId: string): string {
  return `/objects/${encodeURIComponent(objectId.replace('/', '.'))}`
}

export function objectIdIn(segment: string): string {
  return segment.replace('.', '/')
}

function signedPath(path: string, expiresAt: number, env: Environment): string {
  return `${path}?expires=${expiresAt}&signature=${env.sign(`${path}?expires=${expiresAt}`)}`
}

/** True if the query has a valid signature that has not expired. */
export function isSigned(path: string, query: string, env: Environment): boolean {
  const match = /^expires=(\d{1,16})&signature=([\w-]+)$/.exec(query)
  if (!match) return false
  const [, expires, signature = ''] = match
  return Number(expires) > env.clock.now() && env.isSigned(`${path}?expires=${expires}`, signature)
}
