/** Encodes a binary result as content: small images, audio and text inline, everything else as a link. */

import type { ResultLocation } from '../../core/call/instance.ts'
import { bareType, isTextual } from '../../core/call/media.ts'
import type { Reply } from '../../core/call/reply.ts'
import type { JsonValue } from '../../core/json.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { encodeResult } from './codec.ts'
import type { CallToolResult, Content } from './wire.ts'

export type LocatedReply = Extract<Reply, { location: ResultLocation }>

export interface LocateParts {
  objects: ObjectStore
  env: Pick<Environment, 'base64'>
  /** Returns the address of a result for this caller. */
  locate: (reply: LocatedReply, origin: string) => { uri: string; mimeType?: string; value?: JsonValue }
}

/** A model can hardly read more in one result. Larger results become links. */
const MAX_EMBEDDED_BYTES = 1024 * 1024

export async function encodeLocated(
  reply: LocatedReply,
  origin: string,
  traceId: string,
  parts: LocateParts,
): Promise<CallToolResult> {
  const { uri, mimeType, value } = parts.locate(reply, origin)
  const { location } = reply
  const content =
    (location.kind === 'object' ? await embed(location.objectId, location.mimeType, uri, parts) : undefined) ??
    link(uri, mimeType, location.kind === 'external' ? lastSegment(uri) : 'result')
  return encodeResult([content], false, traceId, {
    uri,
    ...(mimeType !== undefined && { mimeType }),
    ...(value !== undefined && { value }),
  })
}

async function embed(
  objectId: string,
  mimeType: string,
  uri: string,
  { objects, env }: LocateParts,
): Promise<Content | undefined> {
  const [kind] = bareType(mimeType).split('/')
  const shown = kind === 'image' || kind === 'audio'
  if (!shown && !isTextual(mimeType)) return undefined
  const info = await objects.info(objectId)
  if (!info || info.bytes > MAX_EMBEDDED_BYTES) return undefined
  const bytes = new Uint8Array(info.bytes)
  let at = 0
  for await (const piece of objects.read(objectId)) {
    bytes.set(piece, at)
    at += piece.length
  }
  if (shown) return { type: kind, mimeType, data: env.base64(bytes) }
  return { type: 'resource', resource: { uri, mimeType, text: new TextDecoder().decode(bytes) } }
}

function lastSegment(uri: string): string {
  return uri.slice(uri.lastIndexOf('/') + 1) || uri
}

function link(uri: string, mimeType: string | undefined, name: string): Content {
  return { type: 'resource_link', uri, name, ...(mimeType !== undefined && { mimeType }) }
}
