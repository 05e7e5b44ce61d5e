/** Reads a multipart request. Attachments are streamed to the object store. OpenCALL, "Media Ingress". */

import type { MediaInput } from '../../../core/call/call.ts'
import { bareType, checkSize, checkType, cleanFilename, slotFor, tooLarge } from '../../../core/call/media.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { Calls } from '../../../core/ports/calls.ts'
import type { Exchange, Part } from '../../../core/ports/exchange.ts'
import type { Identify } from '../../../core/ports/guard.ts'
import type { ObjectInfo, ObjectStore } from '../../../core/ports/objects.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import { danglingPart } from '../codec.ts'
import type { MediaEntry, RequestEnvelope } from '../wire.ts'

export interface UploadParts {
  calls: Pick<Calls, 'admit'>
  objects: ObjectStore
  maxEnvelopeBytes: number
  /** Total limit of all parts that arrive before the envelope, because their slots are not known yet. */
  maxUploadBytes: number
}

export interface Received {
  envelope: RequestEnvelope
  media: MediaInput[]
}

/** A received part and its stored bytes. */
interface Stored {
  info: ObjectInfo
  part: Pick<Part, 'name' | 'mimeType' | 'statesType' | 'filename'>
}

const PART_LIMITS = { maxParts: 101, maxHeaderBytes: 8 * 1024, textPart: 'envelope' }

/** Stores all parts under the id `owner`. If this function throws, its caller must remove that owner's objects. */
export async function receiveMultipart(
  exchange: Exchange,
  owner: string,
  identify: Identify,
  parse: (value: JsonValue) => RequestEnvelope,
  parts: UploadParts,
): Promise<Received> {
  const stored = new Map<string, Stored>()
  let unnamedBytes = 0
  let known: { envelope: RequestEnvelope; operation: Operation } | undefined
  for await (const part of exchange.parts(PART_LIMITS)) {
    if (part.name === 'envelope') {
      if (known) throw new Fault('malformed', 'The request has two parts named "envelope". Send one.')
      const envelope = parse(parseJsonText(await readText(part, parts.maxEnvelopeBytes)))
      known = { envelope, operation: await parts.calls.admit(envelope.op, identify) }
      continue
    }
    if (stored.has(part.name)) throw new Fault('malformed', `The request has two parts named "${part.name}".`)
    // Before the envelope names an operation, only an identified caller may upload. Others could fill the disk.
    if (!known && !(await identify()))
      throw new Fault('unauthenticated', 'Send a credential, or the envelope as the first part.')
    const maxBytes = known ? limitFor(known, part) : parts.maxUploadBytes - unnamedBytes
    const info = await parts.objects.put(`${owner}/part-${stored.size}`, part.bytes, {
      mimeType: part.mimeType,
      maxBytes,
    })
    unnamedBytes += info.bytes
    stored.set(part.name, { info, part })
  }
  if (!known)
    throw new Fault('malformed', 'The request has no part named "envelope". Send the envelope JSON in it.', {
      code: 'ENVELOPE_MISSING',
    })
  const { envelope, operation } = known
  refuseStrays(envelope.media, stored)
  return { envelope, media: envelope.media.map((entry) => toInput(entry, operation, stored)) }
}

function limitFor({ envelope, operation }: { envelope: RequestEnvelope; operation: Operation }, part: Part): number {
  const entry = envelope.media.find((candidate) => candidate.part === part.name)
  if (!entry) throw strayPart(part.name)
  const slot = slotFor(operation, entry.name)
  checkType(slot, entry.mimeType)
  checkStatedType(entry, part)
  return slot.maxBytes
}

function toInput(entry: MediaEntry, operation: Operation, stored: ReadonlyMap<string, Stored>): MediaInput {
  const { name, mimeType, ref, part = '' } = entry
  if (ref !== undefined) return { name, mimeType, source: { kind: 'ref', uri: ref } }
  const found = stored.get(part)
  if (!found) throw danglingPart(part)
  const { info } = found
  const filename = cleanFilename(found.part.filename ?? '')
  const slot = slotFor(operation, name)
  checkType(slot, mimeType)
  checkStatedType(entry, found.part)
  checkSize(slot, info.bytes)
  return {
    name,
    mimeType,
    ...(filename !== undefined && { filename }),
    source: { kind: 'object', objectId: info.id, bytes: info.bytes, sha256: info.sha256 },
  }
}

/** If a part states a type, it must match the envelope. `application/octet-stream` means that the type is unknown. */
function checkStatedType({ name, mimeType }: MediaEntry, part: Pick<Part, 'name' | 'mimeType' | 'statesType'>): void {
  const stated = bareType(part.mimeType)
  if (!part.statesType || stated === 'application/octet-stream' || stated === bareType(mimeType)) return
  throw new Fault(
    'invalid-input',
    `The part "${part.name}" is ${stated}, but "media" has ${bareType(mimeType)}. Send the same type in both, or no type with the part.`,
    { code: 'UNSUPPORTED_MEDIA_TYPE', details: { name } },
  )
}

function refuseStrays(media: readonly MediaEntry[], stored: ReadonlyMap<string, unknown>): void {
  const named = new Set(media.map((entry) => entry.part))
  for (const name of stored.keys()) if (!named.has(name)) throw strayPart(name)
}

function strayPart(name: string): Fault {
  return new Fault('malformed', `No entry of "media" names the part "${name}". Name it, or leave the part out.`, {
    code: 'STRAY_PART',
  })
}

async function readText(part: Part, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  try {
    for await (const piece of part.bytes) {
      bytes += piece.length
      if (bytes > maxBytes) throw tooLarge('envelope', maxBytes)
      text += decoder.decode(piece, { stream: true })
    }
    return text + decoder.decode()
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown
    throw new Fault('malformed', 'The envelope is not valid UTF-8.', { code: 'INVALID_UTF8', cause: thrown })
  }
}
