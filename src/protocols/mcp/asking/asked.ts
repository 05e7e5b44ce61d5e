/** One request as the methods see it, whichever carrier brought it and whichever generation it is of. */

import { ANONYMOUS, type Caller, ownerOf } from '../../../core/caller.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { invalidParams } from '../faults.ts'
import type { ClientSession } from '../sessions/sessions.ts'
import { type Generation, META, type RpcMessage, type RpcRequest, TASKS } from '../wire.ts'

/** What a carrier knows of whoever asks. */
export interface Client {
  /** How they reach us, for addresses that a person opens. */
  readonly origin: string
  /** Aborts when they have gone. */
  readonly signal: AbortSignal
  /**
   * Aborts when they want the request stopped: they have said so or, in revisions that take leaving for that, have left.
   * Absent where they have no way to say it.
   */
  readonly calledOff?: AbortSignal | undefined
  /** Whether notifications can be sent before the answer. */
  readonly hears: boolean
  /** Of the older revisions: absent where the client has begun none. */
  readonly session?: ClientSession | undefined
  /** Absent where a request has no headers. */
  header?(name: string): string | undefined
}

export interface Asked extends RpcRequest {
  readonly generation: Generation
  /** Absent where no credential was shown. */
  readonly caller: Caller | undefined
  readonly client: Client
}

/** The answer; or notifications that come before it, which is what the stream returns at its end. */
export type Outcome =
  | { result: object /** Of a session that begins with it. */; sessionId?: string }
  | { stream: AsyncGenerator<RpcMessage, object> }

/** Who asks, as one text: what is kept for one caller is found by no other. */
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

/** Which questions the client can put to its person. An empty capability means forms, as it always has. */
export function elicits(asked: Asked, mode: 'form' | 'url'): boolean {
  const { elicitation } = capabilitiesOf(asked)
  if (!isJsonObject(elicitation)) return false
  return isJsonObject(elicitation[mode]) || (mode === 'form' && Object.keys(elicitation).length === 0)
}

export function progressTokenOf(asked: Asked): string | number | undefined {
  const { progressToken } = metaOf(asked)
  if (progressToken === undefined) return undefined
  if (typeof progressToken === 'string' || typeof progressToken === 'number') return progressToken
  throw invalidParams('"_meta.progressToken" must be a text or a number.')
}

const KEY = /^[\x21-\x7e]{1,256}$/

export function idempotencyKeyOf(asked: Asked): string | undefined {
  const key = metaOf(asked)[META.idempotencyKey]
  if (key === undefined) return undefined
  if (typeof key === 'string' && KEY.test(key)) return key
  throw invalidParams(`"_meta.${META.idempotencyKey}" must be 1 to 256 printable characters without spaces.`)
}

/** A text that must be there, such as a tool's name. */
export function textParam({ params, method }: Asked, name: string): string {
  const value = params[name]
  if (typeof value === 'string') return value
  throw invalidParams(`${method} needs "${name}", as a text.`)
}
