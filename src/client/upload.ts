/** A call with files: `multipart/form-data`, streamed if the caller wants to see the progress. OpenCALL, "Media". */
import { newId } from './ids.ts'
import type { MediaInput, OutgoingCall } from './options.ts'
import type { FetchInit } from './transport.ts'

interface Part {
  readonly head: string
  readonly body: Blob
}

export function encodeUpload(
  call: OutgoingCall,
  envelope: object,
  media: Readonly<Record<string, MediaInput | undefined>>,
): FetchInit {
  const given = Object.entries(media).filter((entry): entry is [string, MediaInput] => entry[1] !== undefined)
  const entries = given.map(([name, input]) =>
    'ref' in input ? { name, mimeType: input.type, ref: input.ref } : { name, mimeType: typeOf(input), part: name },
  )
  const text = JSON.stringify({ ...envelope, media: entries })
  const files = given.filter(([, input]) => !('ref' in input))
  if (files.length === 0) return { headers: { 'content-type': 'application/json' }, body: text }
  const boundary = `callplane-${newId()}`
  const parts: Part[] = [
    { head: partHead(boundary, 'envelope', 'application/json'), body: new Blob([text]) },
    ...files.map(([name, input]) => ({
      head: partHead(boundary, name, typeOf(input), fileName(input)),
      body: blobOf(input),
    })),
  ]
  const whole = new Blob([...parts.flatMap(({ head, body }) => [head, body, '\r\n']), `--${boundary}--\r\n`])
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  return { headers, body: call.onUpload && canStreamRequests() ? counted(whole, call.onUpload) : whole }
}

function typeOf(input: Exclude<MediaInput, { ref: string }> | MediaInput): string {
  return input.type || 'application/octet-stream'
}

function blobOf(input: MediaInput): Blob {
  if (input instanceof Blob) return input
  return new Blob('data' in input ? [input.data as string] : [], { type: input.type })
}

function fileName(input: MediaInput): string | undefined {
  return typeof File !== 'undefined' && input instanceof File ? input.name : undefined
}

/** Names are escaped as browsers escape them. WHATWG HTML, "Multipart form data". */
function partHead(boundary: string, name: string, type: string, file?: string): string {
  const filename = file === undefined ? '' : `; filename="${escaped(file)}"`
  return `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${filename}\r\nContent-Type: ${type.replace(/[\r\n]/g, ' ')}\r\n\r\n`
}

function escaped(text: string): string {
  return text.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22')
}

/** Only some runtimes can send a stream, and browsers only over HTTP/2. */
function canStreamRequests(): boolean {
  let isAsked = false
  const has = new Request('http://localhost', {
    body: new ReadableStream(),
    method: 'POST',
    get duplex() {
      isAsked = true
      return 'half' as const
    },
  } as RequestInit).headers.has('content-type')
  return isAsked && !has && typeof document === 'undefined'
}

declare const document: unknown

function counted(whole: Blob, onUpload: NonNullable<OutgoingCall['onUpload']>): ReadableStream<Uint8Array> {
  let sentBytes = 0
  return whole.stream().pipeThrough(
    new TransformStream({
      transform(piece: Uint8Array, controller) {
        controller.enqueue(piece)
        sentBytes += piece.byteLength
        onUpload({ sentBytes, totalBytes: whole.size })
      },
    }),
  )
}
