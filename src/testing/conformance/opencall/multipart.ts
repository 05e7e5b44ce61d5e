/** Builds multipart bodies byte by byte, in the shape of the specification's example under "Media Ingress". */
import { joinBytes } from '../../../core/bytes.ts'
import type { JsonMembers } from '../assertions.ts'
import type { RequestInfo } from '../http.ts'

const BOUNDARY = '----boundary'

export interface SentPart {
  name: string
  content: Uint8Array | string
  type?: string
  filename?: string
}

export function multipart(parts: readonly SentPart[]): RequestInfo & { body: Uint8Array<ArrayBuffer> } {
  const pieces: Uint8Array[] = []
  const text = new TextEncoder()
  for (const { name, content, type, filename } of parts) {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`
    pieces.push(
      text.encode(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${typed}\r\n`),
      typeof content === 'string' ? text.encode(content) : content,
      text.encode('\r\n'),
    )
  }
  pieces.push(text.encode(`--${BOUNDARY}--\r\n`))
  return { headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }, body: joinBytes(pieces) }
}

export function envelopePart(envelope: JsonMembers): SentPart {
  return { name: 'envelope', content: JSON.stringify(envelope), type: 'application/json' }
}
