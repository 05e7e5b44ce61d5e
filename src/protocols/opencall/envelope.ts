/** Parses an unknown value as a request envelope, or reports the invalid field. */

import { isMediaType } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { registeredName } from '../../core/operation/names.ts'
import type { PresentedAuth } from '../../core/ports/guard.ts'
import type { MediaEntry, RequestContext, RequestEnvelope } from './wire.ts'

const REQUEST_ID = /^[A-Za-z0-9._~:-]{1,128}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const MAX_TEXT = 256
const MAX_MEDIA = 100

/** `addressed` is the operation that the address of the request names. The envelope then needs no `op`. */
export function parseEnvelope(value: JsonValue, strict: boolean, addressed?: string): RequestEnvelope {
  if (!isJsonObject(value)) throw invalid('', 'The body must be a JSON object: the request envelope.')
  const { op: sent = addressed, args, media, ctx, auth } = value
  if (typeof sent !== 'string') throw invalid('op', 'Name the operation in "op", such as "v1:orders.getItem".')
  const op = registeredName(sent)
  if (addressed !== undefined && op !== addressed) {
    throw invalid('op', `The path names another operation than "op". Leave "op" out, or send POST /call.`)
  }
  if (args !== undefined && !isJsonObject(args)) throw invalid('args', '"args" must be an object.')
  const envelope: RequestEnvelope = {
    op,
    args: args ?? {},
    media: media === undefined ? [] : parseMedia(media),
    ctx: ctx === undefined ? {} : parseContext(ctx, strict),
  }
  if (addressed !== undefined || op !== sent) envelope.isLater = true
  if (auth !== undefined) envelope.auth = parseAuth(auth)
  return envelope
}

/** Returns the request id of an envelope that may be invalid, so that a refusal contains it. */
export function requestIdIn(value: JsonValue): string | undefined {
  const requestId = contextIn(value)?.requestId
  return typeof requestId === 'string' && REQUEST_ID.test(requestId) ? requestId : undefined
}

export function sessionIdIn(value: JsonValue): string | undefined {
  const sessionId = contextIn(value)?.sessionId
  return isText(sessionId) ? sessionId : undefined
}

function contextIn(value: JsonValue): JsonObject | undefined {
  const ctx = isJsonObject(value) ? value.ctx : undefined
  return isJsonObject(ctx) ? ctx : undefined
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT
}

function parseContext(ctx: JsonValue, strict: boolean): RequestContext {
  if (!isJsonObject(ctx)) throw invalid('ctx', '"ctx" must be an object.')
  const { requestId, timeoutMs } = ctx
  if (
    requestId === undefined ? strict : typeof requestId !== 'string' || !(strict ? UUID : REQUEST_ID).test(requestId)
  ) {
    throw invalid(
      'ctx.requestId',
      strict
        ? '"ctx.requestId" must be a UUID.'
        : '"ctx.requestId" must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ : -',
    )
  }
  if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || timeoutMs < 0)) {
    throw invalid('ctx.timeoutMs', '"ctx.timeoutMs" must be a number of milliseconds, 0 or more.')
  }
  const parsed: RequestContext = {}
  if (requestId !== undefined) parsed.requestId = requestId as string
  if (timeoutMs !== undefined) parsed.timeoutMs = timeoutMs
  // Loops over the fields that are present, because most contexts have only a request id.
  for (const field in ctx) {
    if (!isTextField(field)) continue
    const value = ctx[field]
    if (!isText(value)) {
      throw invalid(`ctx.${field}`, `"ctx.${field}" must be a string of 1 to ${MAX_TEXT} characters.`)
    }
    parsed[field] = value
  }
  return parsed
}

const TEXTS = ['sessionId', 'parentId', 'idempotencyKey', 'locale', 'traceparent'] as const

function isTextField(field: string): field is (typeof TEXTS)[number] {
  return field !== 'requestId' && (TEXTS as readonly string[]).includes(field)
}

function parseMedia(media: JsonValue): MediaEntry[] {
  if (!Array.isArray(media)) throw invalid('media', '"media" must be an array.')
  if (media.length > MAX_MEDIA) throw invalid('media', `"media" may have at most ${MAX_MEDIA} entries.`)
  return media.map((entry, index) => parseEntry(entry, `media[${index}]`))
}

function parseEntry(entry: JsonValue, at: string): MediaEntry {
  if (!isJsonObject(entry)) throw invalid(at, `"${at}" must be an object.`)
  const { name, mimeType, ref, part } = entry
  if (typeof name !== 'string' || name === '')
    throw invalid(`${at}.name`, `"${at}.name" must name an attachment of the operation.`)
  if (typeof mimeType !== 'string' || !isMediaType(mimeType))
    throw invalid(`${at}.mimeType`, `"${at}.mimeType" must be a media type, such as "image/png".`)
  if ((ref === undefined) === (part === undefined)) throw invalid(at, `"${at}" needs exactly one of "ref" and "part".`)
  if (part !== undefined) {
    if (typeof part !== 'string' || part === '')
      throw invalid(`${at}.part`, `"${at}.part" must be the name of a multipart part.`)
    return { name, mimeType, part }
  }
  if (typeof ref !== 'string' || !URL.canParse(ref)) throw invalid(`${at}.ref`, `"${at}.ref" must be an absolute URI.`)
  return { name, mimeType, ref }
}

/** HTTP uses the `Authorization` header (opencall:043). Only an application's own `auth.verify` gets this block. */
function parseAuth(auth: JsonValue): PresentedAuth {
  if (!isJsonObject(auth)) throw invalid('auth', '"auth" must be an object.')
  for (const field of ['iss', 'sub', 'credentialType']) {
    if (typeof auth[field] !== 'string') throw invalid(`auth.${field}`, `"auth.${field}" must be a string.`)
  }
  if (auth.credential !== undefined && typeof auth.credential !== 'string')
    throw invalid('auth.credential', '"auth.credential" must be a string.')
  const { iss, sub, credentialType, credential } = auth as unknown as PresentedAuth
  return { iss, sub, credentialType, ...(credential !== undefined && { credential }) }
}

function invalid(field: string, message: string): Fault {
  return new Fault('malformed', message, field === '' ? {} : { details: { field } })
}
