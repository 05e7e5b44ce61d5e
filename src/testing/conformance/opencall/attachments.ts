/** Attachments that match an operation's `mediaSchema`, and the calls that send them. OpenCALL, "Media Ingress". */
import { createHash, randomUUID } from 'node:crypto'
import { type JsonMembers, must, mustBeObject, mustBeText } from '../assertions.ts'
import { envelopePart, multipart, type SentPart } from './multipart.ts'
import { type Answered, needsKey, type OpenCallPart, type Subject, sentBy } from './subject.ts'

/** Line breaks, the start of the boundary and every byte value: input that naive parsers get wrong. */
const TRICKY = Buffer.concat([
  Buffer.from('\r\n--\r\n------bound\r\n\r\n'),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from('\r\n'),
])
/** One pixel. Bytes after the last chunk of a PNG are not part of the picture. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

export interface Slot {
  name: string
  required: unknown
  acceptedTypes: unknown
  maxBytes: unknown
  /** An accepted type. */
  mimeType: string
  content: Buffer
}

export interface Upload {
  part: OpenCallPart
  /** The attachment that the cases vary. */
  slot: Slot
  entry: { name: string; mimeType: string; part: string }
  file: SentPart
  /** Other attachments that the operation requires. */
  others: readonly { entry: JsonMembers; file: SentPart }[]
}

export async function prepareUpload(server: Subject): Promise<Upload> {
  const part = await server.part('upload')
  const { mediaSchema } = part.entry
  must(Array.isArray(mediaSchema), `mediaSchema of ${part.op} is not an array.`)
  const slots = mediaSchema.map((each) => readSlot(mustBeObject(each, `An entry of mediaSchema of ${part.op}`)))
  const slot = slots.find(({ required }) => required === true) ?? slots[0]
  must(slot !== undefined, `mediaSchema of ${part.op} is empty.`)
  const others = slots.filter((each) => each !== slot && each.required === true)
  return { part, slot, ...attach(slot, 'selfie'), others: others.map((each) => attach(each, `${each.name}-part`)) }
}

function readSlot({ name, required, acceptedTypes, maxBytes }: JsonMembers): Slot {
  const mimeType = concreteType(acceptedTypes)
  return {
    name: mustBeText(name, 'name of an attachment'),
    required,
    acceptedTypes,
    maxBytes,
    mimeType,
    content: contentOf(mimeType),
  }
}

function concreteType(accepted: unknown): string {
  const [first] = Array.isArray(accepted) ? accepted : []
  if (typeof first !== 'string' || first === '*/*') return 'application/octet-stream'
  return first
    .replace(/^image\/\*$/, 'image/png')
    .replace(/^text\/\*$/, 'text/plain')
    .replace(/\/\*$/, '/octet-stream')
}

function contentOf(mimeType: string): Buffer {
  if (mimeType === 'image/png') return Buffer.concat([PIXEL, TRICKY])
  if (mimeType.endsWith('json')) return Buffer.from('{ "text": "--\\r\\n------bound" }')
  return mimeType.startsWith('text/') ? Buffer.from('text\r\n--\r\n------bound\r\n') : TRICKY
}

function attach({ name, mimeType, content }: Slot, part: string) {
  return {
    entry: { name, mimeType, part },
    file: { name: part, content, type: mimeType, filename: 'attachment' },
  }
}

export function digestOf({ mimeType, content }: Slot) {
  return { mimeType, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

/** The full envelope, with a key if the operation has effects. */
export function envelopeOf({ part, others }: Upload, media: unknown): JsonMembers {
  const ctx = { requestId: randomUUID(), ...(needsKey(part.entry) && { idempotencyKey: randomUUID() }) }
  const all = Array.isArray(media) ? [...media, ...others.map(({ entry }) => entry)] : media
  return { op: part.op, args: part.args, ...(media !== undefined && { media: all }), ctx }
}

export async function upload(
  server: Subject,
  prepared: Upload,
  media: unknown = [prepared.entry],
  files: readonly SentPart[] = [prepared.file],
): Promise<Answered> {
  const envelope = envelopeOf(prepared, media)
  const sent = [envelopePart(envelope), ...files, ...prepared.others.map(({ file }) => file)]
  const { body, ...request } = multipart(sent)
  return server.post(body, request, sentBy(envelope))
}
