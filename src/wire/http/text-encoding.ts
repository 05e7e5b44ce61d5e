/** How a text body may be encoded: as UTF-8, and not compressed. Asked by every carrier before it reads one. */
import { Fault } from '../../core/fault.ts'

// RFC 9110, "Media Type": names of parameters and of charsets are the same in either case, and a value may be quoted.
const CHARSET = /;[ \t]*charset=[ \t]*(?:"([^"]*)"|([^;"\s]*))/i

/** Bytes in another charset can be UTF-8 by accident and mean something else, so the header decides and not the bytes. */
export function refuseEncoded(contentType: string | undefined, contentEncoding: string | undefined): void {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw unsupported(`The body is encoded as "${contentEncoding.slice(0, 50)}"; send it without a Content-Encoding.`)
  }
  // What nearly every request says has no parameters.
  const match = contentType?.includes(';') ? CHARSET.exec(contentType) : null
  const charset = match?.[1] ?? match?.[2]
  if (charset === undefined || /^utf-?8$/i.test(charset)) return
  throw unsupported(
    `The body is in the charset "${charset.slice(0, 50)}"; encode it as UTF-8 and say so, or say nothing.`,
  )
}

function unsupported(message: string): Fault {
  return new Fault('malformed', message, { code: 'UNSUPPORTED_CONTENT_TYPE' })
}
