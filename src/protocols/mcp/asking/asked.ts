/** A request as the methods get it, independent of carrier and generation. */

import { ANONYMOUS, type Caller, ownerOf } from '../../../core/call/caller.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { invalidParams } from '../faults.ts'
import type { ClientSession } from '../sessions/sessions.ts'
import { type Generation, META, type RpcMessage, type RpcRequest, TASKS } from '../wire.ts'

/** The data that a carrier has about a client. */
export interface Client {
  /** The address at which the client reaches this server. Used in links that a person opens. */
  readonly origin: string
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /**
   * Aborts when the client cancels the request, or disconnects in revisions where that means cancel. Absent if the
   * client has no way to cancel.
   */
  readonly calledOff?: AbortSignal | undefined
  /** True if the client accepts notifications before the response. */
  readonly hears: boolean
  /** A session of the older revisions. Absent if the client has not started one. */
  readonly session?: ClientSession | undefined
  /** Absent if the carrier has no headers. */
  header?(name: string): string | undefined
}

export interface Asked extends RpcRequest {
  readonly generation: Generation
  /** Absent if the client sent no credential. */
  readonly caller: Caller | undefined
  readonly client: Client
}

/** The result, or a stream of notifications that returns the result at its end. */
export type Outcome =
  | { result: object /** Id of the session that starts with this result. */; sessionId?: string }
  | { stream: AsyncGenerator<RpcMessage, object> }

/** Returns a key that is unique for the caller, so that no caller finds data of another. */
export function callerKey({ caller = ANONYMOUS }: { caller?: Caller | undefined }): string {
  return JSON.stringify([caller.tenant, ownerOf(caller)])
}

const NOTHING: JsonObject = Object.freeze({})

export function metaOf({ params }: Pick<Asked, 'params'>): JsonObject {
  return isJsonObject(params._meta) ? params._meta : NOTHING
}

export function capabilitiesOf(asked: Asked): JsonObject {
  if (asked.generation !== 'stateless') return asked.client.session?.capabilities ?? NOTHING
  const capabilities = metaOf(asked)[META.capabilities]
  return isJsonObject(capabilities) ? capabilities : NOTHING
}

export function takesTasks(asked: Asked): boolean {
  if (asked.generation !== 'stateless') return false
  const { extensions } = capabilitiesOf(asked)
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS])
}

/**
 * True if the client can ask its user this kind of question. An empty capability means forms, as in older revisions.
 */
export function elicits(asked: Asked, mode: 'form' | 'url'): boolean {
  const { elicitation } = capabilitiesOf(asked)
  if (!isJsonObject(elicitation)) return false
  return isJsonObject(elicitation[mode]) || (mode === 'form' && Object.keys(elicitation).length === 0)
}

export function progressTokenOf(asked: Asked): string | number | undefined {
  const { progressToken } = metaOf(asked)
  if (progressToken === undefined) return undefined
  if (typeof progressToken === 'string' || typeof progressToken === 'number') return progressToken
  throw invalidParams('"_meta.progressToken" must be a string or a number.')
}

const KEY = /^[\x21-\x7e]{1,256}$/

export function idempotencyKeyOf(asked: Asked): string | undefined {
  const key = metaOf(asked)[META.idempotencyKey]
  if (key === undefined) return undefined
  if (typeof key === 'string' && KEY.test(key)) return key
  throw invalidParams(`"_meta.${META.idempotencyKey}" must be 1 to 256 printable characters without spaces.`)
}

/** Returns a required string parameter, such as the name of a tool. */
export function textParam({ params, method }: Asked, name: string): string {
  const value = params[name]
  if (typeof value === 'string') return value
  throw invalidParams(`${method} needs the string "${name}".`)
}
