/** Checks the encoding of a text body: UTF-8 and uncompressed. Every HTTP carrier calls it before it reads a body. */
import { Fault } from '../../core/fault.ts'

// RFC 9110, "Media Type": parameter names and charsets are case-insensitive, and a value may be quoted.
const CHARSET = /;[ \t]*charset=[ \t]*(?:"([^"]*)"|([^;"\s]*))/i

/** The header decides, not the bytes: text in another charset can be valid UTF-8 by accident. */
export function refuseEncoded(contentType: string | undefined, contentEncoding: string | undefined): void {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw unsupported(`The body is encoded as "${contentEncoding.slice(0, 50)}"; send it without a Content-Encoding.`)
  }
  // Most requests have no parameters.
  const match = contentType?.includes(';') ? CHARSET.exec(contentType) : null
  const charset = match?.[1] ?? match?.[2]
  if (charset === undefined || /^utf-?8$/i.test(charset)) return
  throw unsupported(
    `The body is in the charset "${charset.slice(0, 50)}"; encode it as UTF-8 and send no other charset.`,
  )
}

function unsupported(message: string): Fault {
  return new Fault('malformed', message, { code: 'UNSUPPORTED_CONTENT_TYPE' })
}
