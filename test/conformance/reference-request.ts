/** The request parser of the reference server: the envelope, alone or in a multipart body, and the attachments. */
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Json, Ran } from './reference-operations.ts'

export type Defect = 'null-body' | 'no-location' | 'utf16-offsets' | 'shared-keys' | 'open-polls' | 'put-404'

/** An error of the protocol, with its status. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly details: { headers?: Record<string, string>; cause?: Json; requestId?: string; sessionId?: string }

  constructor(status: number, code: string, message: string, details: Refusal['details'] = {}) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

export async function readEnvelope(request: IncomingMessage, defect: Defect | undefined) {
  const bytes = await buffer(request)
  const type = request.headers['content-type'] ?? ''
  const malformed = (message: string) => new Refusal(400, 'INVALID_REQUEST', message)
  if (!type.startsWith('multipart/form-data'))
    return { envelope: parseEnvelope(bytes, defect), parts: new Map<string, File>() }
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData().catch(() => {
    throw malformed('The multipart body cannot be read.')
  })
  const envelope = form.get('envelope')
  if (envelope === null) throw malformed('The part "envelope" is missing.')
  const text = typeof envelope === 'string' ? envelope : await envelope.text()
  const parts = new Map<string, File>()
  for (const [name, value] of form) if (typeof value !== 'string' && name !== 'envelope') parts.set(name, value)
  return { envelope: parseEnvelope(Buffer.from(text), defect), parts: await withBytes(parts) }
}

async function withBytes(parts: Map<string, File>): Promise<Map<string, File & { content?: Uint8Array }>> {
  for (const file of parts.values()) Object.assign(file, { content: new Uint8Array(await file.arrayBuffer()) })
  return parts
}

function parseEnvelope(bytes: Buffer, defect: Defect | undefined): Json {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Refusal(400, 'INVALID_REQUEST', 'The body is not JSON in UTF-8.')
  }
  // The failure of a server that reads `body.op` without checking the body first.
  if (defect === 'null-body' && value === null) throw new TypeError('Cannot read properties of null')
  if (!isObject(value)) throw new Refusal(400, 'INVALID_REQUEST', 'The body must be a JSON object.')
  return value
}

export function attachments(
  { op, mediaSchema = [] }: Json,
  media: unknown,
  parts: ReadonlyMap<string, File & { content?: Uint8Array }>,
  invalid: (message: string) => Refusal,
): Ran['files'] {
  const slots = mediaSchema as { name: string; required: boolean; acceptedTypes: string[]; maxBytes: number }[]
  if (media !== undefined && !Array.isArray(media)) throw invalid('"media" must be an array.')
  const files = new Map<string, { type: string; bytes: Uint8Array }>()
  for (const each of media ?? []) {
    if (!isObject(each)) throw invalid('An entry of "media" must be an object.')
    const { name, mimeType, part, ref } = each
    const slot = slots.find((known) => known.name === name)
    if (!slot) throw invalid(`${op} takes no attachment "${name}".`)
    if (typeof mimeType !== 'string') throw invalid(`mimeType of "${name}" is missing.`)
    if ((part === undefined) === (ref === undefined)) throw invalid(`"${name}" needs either "part" or "ref".`)
    if (ref !== undefined) throw invalid(`The ref of "${name}" is not a URI that can be used here.`)
    if (!slot.acceptedTypes.includes(mimeType)) throw invalid(`"${name}" must not be ${mimeType}.`)
    const bytes = parts.get(String(part))?.content
    if (!bytes) throw invalid(`The part "${part}" of "${name}" was not sent.`)
    if (bytes.length > slot.maxBytes) throw invalid(`"${name}" is larger than ${slot.maxBytes} bytes.`)
    files.set(slot.name, { type: mimeType, bytes })
  }
  for (const { name, required } of slots) if (required && !files.has(name)) throw invalid(`"${name}" must be attached.`)
  return files
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
