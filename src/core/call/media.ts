/** Attachments and media types: checks them against the operation, and reads them wherever they are stored. */
import { collectBytes } from '../bytes.ts'
import { Fault } from '../fault.ts'
import type { Operation } from '../operation/operation.ts'
import type { MediaSlot } from '../operation/rules.ts'
import type { ObjectStore } from '../ports/objects.ts'
import type { Fetcher } from '../ports/outbound.ts'
import type { MediaInput } from './call.ts'
import type { MediaFile } from './context.ts'

/** OpenCALL, docs/readings.md#r17: text, JSON, XML and CSV travel as text, all else as base64. */
export function isTextual(mimeType: string): boolean {
  const type = bareType(mimeType)
  return type.startsWith('text/') || /^application\/(?:[\w.-]+\+)?(?:json|xml|csv|x-ndjson)$/.test(type)
}

/** Without parameters, in lower case. */
export function bareType(mimeType: string): string {
  // Fast path for the content type of nearly every request.
  if (mimeType === 'application/json') return mimeType
  const end = mimeType.indexOf(';')
  return (end < 0 ? mimeType : mimeType.slice(0, end)).trim().toLowerCase()
}

// RFC 9110, "Media Type"; parameters may be any printable text. It ends up in headers, so no line break gets through.
const MEDIA_TYPE = /^[!#$%&'*+.^`|~\w-]{1,127}\/[!#$%&'*+.^`|~\w-]{1,127}(?:[ \t]*;[ -~]{0,200})?$/

export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text)
}

/** True if it is valid in a `Location` header: absolute, printable ASCII without spaces (RFC 3986). */
export function isLocation(uri: string): boolean {
  return uri.length <= 8192 && /^[a-z][a-z0-9+.-]*:[!-~]+$/i.test(uri) && URL.canParse(uri)
}

const MAX_FILENAME = 255

/** A safe file name: no path, no invisible characters, no characters that change the text direction. */
export function cleanFilename(sent: string): string | undefined {
  const name = sent
    .slice(Math.max(sent.lastIndexOf('/'), sent.lastIndexOf('\\')) + 1)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  if (name === '' || name === '.' || name === '..') return undefined
  // Does not cut a character in two.
  return name.length <= MAX_FILENAME ? name : name.slice(0, MAX_FILENAME).replace(/[\ud800-\udbff]$/, '')
}

export function slotFor(operation: Operation, name: string): MediaSlot {
  const slot = operation.media.find((candidate) => candidate.name === name)
  if (slot) return slot
  const known = operation.media.map((candidate) => candidate.name).join(', ') || 'none'
  throw new Fault('invalid-input', `${operation.name.full} takes no attachment "${name}". It takes: ${known}.`, {
    code: 'UNKNOWN_MEDIA',
    details: { name },
  })
}

export function checkType(slot: MediaSlot, mimeType: string): void {
  const type = bareType(mimeType)
  if (slot.acceptedTypes.some((accepted) => matchesType(type, accepted.toLowerCase()))) return
  throw new Fault(
    'invalid-input',
    `"${slot.name}" cannot be ${type || 'of no type'}. Send one of: ${slot.acceptedTypes.join(', ')}.`,
    {
      code: 'UNSUPPORTED_MEDIA_TYPE',
      details: { name: slot.name, acceptedTypes: [...slot.acceptedTypes] },
    },
  )
}

function matchesType(type: string, accepted: string): boolean {
  return accepted === '*/*' || accepted === type || (accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1)))
}

export function checkSize(slot: MediaSlot, bytes: number): void {
  if (bytes <= slot.maxBytes) return
  throw tooLarge(slot.name, slot.maxBytes)
}

export function tooLarge(name: string, maxBytes: number): Fault {
  return new Fault('invalid-input', `"${name}" is larger than ${maxBytes} bytes. Send a smaller file.`, {
    code: 'MEDIA_TOO_LARGE',
    details: { name, maxBytes },
  })
}

/** Checks a call's attachments before it runs. It asks the server of each reference for type and size. */
export async function checkMedia(
  operation: Operation,
  media: readonly MediaInput[],
  fetcher: Fetcher,
  signal: () => AbortSignal,
): Promise<readonly MediaInput[]> {
  const given = new Set<string>()
  const checked: MediaInput[] = []
  for (const input of media) {
    const slot = slotFor(operation, input.name)
    if (given.has(input.name)) throw new Fault('malformed', `"${input.name}" is attached twice. Attach it once.`)
    given.add(input.name)
    checkType(slot, input.mimeType)
    checked.push(
      input.source.kind === 'ref' ? await checkReference(slot, input, input.source.uri, fetcher, signal()) : input,
    )
    if (input.source.kind === 'object') checkSize(slot, input.source.bytes)
  }
  const missing = operation.media.find((slot) => slot.required && !given.has(slot.name))
  if (missing) {
    throw new Fault('invalid-input', `${operation.name.full} needs the attachment "${missing.name}".`, {
      code: 'MEDIA_REQUIRED',
      details: { name: missing.name },
    })
  }
  return checked
}

async function checkReference(
  slot: MediaSlot,
  input: MediaInput,
  uri: string,
  fetcher: Fetcher,
  signal: AbortSignal,
): Promise<MediaInput> {
  const { mimeType, bytes } = await fetcher.probe(uri, signal)
  if (mimeType !== undefined && bareType(mimeType) !== 'application/octet-stream') checkType(slot, mimeType)
  if (bytes !== undefined) checkSize(slot, bytes)
  return { ...input, source: { kind: 'ref', uri, ...(bytes !== undefined && { bytes }) } }
}

/** The attachments for the handler. Stored and referenced ones look the same. */
export function openMedia(
  operation: Operation,
  media: readonly MediaInput[],
  objects: ObjectStore,
  fetcher: Fetcher,
  signal: () => AbortSignal,
): Readonly<Record<string, MediaFile>> {
  const files: Record<string, MediaFile> = Object.create(null)
  for (const { name, mimeType, filename, source } of media) {
    const stream = () =>
      source.kind === 'object'
        ? objects.read(source.objectId)
        : fetcher.open(source.uri, slotFor(operation, name).maxBytes, signal())
    files[name] = {
      name,
      mimeType,
      filename,
      stream,
      bytes: () => collectBytes(stream()),
      text: async () => new TextDecoder().decode(await collectBytes(stream())),
    }
  }
  return files
}
