/**
 * Encodes a binary result: small images, audio and text as content, everything else as a link. A link to stored bytes
 * is a resource of this server, so that the client can read it over MCP, without a credential for an HTTP address.
 */

import { collectBytes, joinBytes } from '../../core/bytes.ts'
import type { Caller } from '../../core/call/caller.ts'
import type { ResultLocation } from '../../core/call/instance.ts'
import { bareType, isTextual } from '../../core/call/media.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { CallToolResult, Content, ResourceContents } from './wire.ts'

export type LocatedReply = Extract<Reply, { location: ResultLocation }>

export interface LocateParts {
  objects: ObjectStore
  calls: Pick<Calls, 'poll' | 'chunk' | 'object'>
  env: Pick<Environment, 'base64'>
}

export const RESULT_URI = 'callplane://results/'

/** A model can hardly read more in one result. Larger results become links. */
const MAX_EMBEDDED_BYTES = 1024 * 1024
/** Maximum size of one `resources/read` response. */
const MAX_READ_BYTES = 16 * 1024 * 1024

export async function encodeLocated(reply: LocatedReply, parts: LocateParts): Promise<CallToolResult> {
  const { location, requestId } = reply
  if (location.kind === 'external') {
    return { content: [link(location.uri, undefined, lastSegment(location.uri))] }
  }
  const uri = RESULT_URI + encodeURIComponent(requestId)
  const bytes = location.kind === 'object' ? await smallBytes(location.objectId, location.mimeType, parts) : undefined
  return bytes
    ? embed(bytes, location.mimeType, uri, parts)
    : withValue({ content: [link(uri, location.mimeType, 'The result of this call')] }, location)
}

/** Adds the value that accompanies the bytes, also as text for clients that only read text. */
function withValue({ content }: CallToolResult, location: ResultLocation): CallToolResult {
  if (location.kind !== 'chunks' || location.value === undefined) return { content }
  const { value } = location
  const structuredContent = isJsonObject(value) ? value : { result: value }
  return { content: [{ type: 'text', text: JSON.stringify(value) }, ...content], structuredContent }
}

async function smallBytes(
  objectId: string,
  mimeType: string,
  { objects }: LocateParts,
): Promise<Uint8Array | undefined> {
  if (!isShown(mimeType) && !isTextual(mimeType)) return undefined
  const info = await objects.info(objectId)
  return info && info.bytes <= MAX_EMBEDDED_BYTES ? collectBytes(objects.read(objectId)) : undefined
}

/** JSON is also in `structuredContent`, for tools with an output schema. */
function embed(bytes: Uint8Array, mimeType: string, uri: string, { env }: LocateParts): CallToolResult {
  const type = bareType(mimeType)
  if (isShown(mimeType)) {
    const kind = type.startsWith('image/') ? 'image' : 'audio'
    return { content: [{ type: kind, mimeType, data: env.base64(bytes) }] }
  }
  const text = new TextDecoder().decode(bytes)
  const content: Content[] = [{ type: 'resource', resource: { uri, mimeType, text } }]
  const value = type === 'application/json' ? parsed(text) : undefined
  return value ? { content, structuredContent: value } : { content }
}

function parsed(text: string) {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

/** Handles `resources/read` of a result. */
export async function readResult(
  caller: Caller | undefined,
  uri: string,
  origin: string,
  parts: LocateParts,
): Promise<ResourceContents> {
  const requestId = decodeId(uri.slice(RESULT_URI.length))
  const reply = await parts.calls.poll(caller, requestId)
  if (!('location' in reply)) throw new Fault('not-found', 'The result of this call is in the response to the call.')
  const { location } = reply
  if (location.kind === 'external') return { uri, text: location.uri }
  const { mimeType } = location
  const bytes =
    location.kind === 'object'
      ? await readObject(caller, location.objectId, origin, parts)
      : await readChunks(caller, requestId, origin, parts)
  return isTextual(mimeType)
    ? { uri, mimeType, text: new TextDecoder().decode(bytes) }
    : { uri, mimeType, blob: parts.env.base64(bytes) }
}

async function readObject(caller: Caller | undefined, objectId: string, origin: string, { calls }: LocateParts) {
  const { info, read } = await calls.object(caller, objectId)
  if (info.bytes > MAX_READ_BYTES) throw tooLarge(`${origin}/objects/${objectId}`)
  return collectBytes(read())
}

async function readChunks(caller: Caller | undefined, requestId: string, origin: string, { calls }: LocateParts) {
  const pieces: Uint8Array[] = []
  let total = 0
  for (let index = 0; ; index++) {
    const { chunk } = await calls.chunk(caller, requestId, () => index)
    if (!chunk) break
    total += chunk.bytes.length
    if (total > MAX_READ_BYTES) throw tooLarge(`${origin}/ops/${encodeURIComponent(requestId)}/chunks`)
    pieces.push(chunk.bytes)
    if (chunk.last) break
  }
  return joinBytes(pieces)
}

function isShown(mimeType: string): boolean {
  return /^(?:image|audio)\//.test(bareType(mimeType))
}

function decodeId(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new Fault('not-found', 'There is no such resource.', { cause })
  }
}

function lastSegment(uri: string): string {
  return uri.slice(uri.lastIndexOf('/') + 1) || uri
}

function link(uri: string, mimeType: string | undefined, name: string): Content {
  return { type: 'resource_link', uri, name, ...(mimeType !== undefined && { mimeType }) }
}

function tooLarge(address: string): Fault {
  return new Fault(
    'invalid-input',
    `This result is too large for one response. Fetch it at ${address} with your credential.`,
    {
      code: 'RESULT_TOO_LARGE',
    },
  )
}
