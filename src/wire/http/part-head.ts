/** Parses the headers of multipart/form-data: the boundary in the request, the name and type in each part. */

import { Fault } from '../../core/fault.ts'
import type { Part } from '../../core/ports/exchange.ts'

export function invalidMultipart(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_MULTIPART' })
}

export function parseBoundary(contentType: string): string {
  const { value, params } = parseHeaderValue(contentType)
  if (value !== 'multipart/form-data') {
    throw invalidMultipart('The body must be multipart/form-data here; set the Content-Type to multipart/form-data.')
  }
  const boundary = params.get('boundary')
  // RFC 2046, "Common Syntax": 1 to 70 characters of a short list.
  if (boundary === undefined || !/^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(boundary)) {
    throw invalidMultipart('The Content-Type names no usable boundary; let your HTTP client set it.')
  }
  return boundary
}

export function parsePartHead(bytes: Uint8Array): Omit<Part, 'bytes'> {
  const headers = new Map<string, string>()
  for (const line of decodeHead(bytes).split('\r\n')) {
    const match = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*)$/s.exec(line)
    if (!match?.[1] || match[2] === undefined) {
      throw invalidMultipart('A part starts with a line that is not a header; give it a Content-Disposition header.')
    }
    headers.set(match[1].toLowerCase(), match[2])
  }
  const disposition = parseHeaderValue(headers.get('content-disposition') ?? '')
  const name = disposition.params.get('name')
  if (disposition.value !== 'form-data' || name === undefined || name === '') {
    throw invalidMultipart('A part has no name; give it "Content-Disposition: form-data; name=…".')
  }
  // RFC 7578, 4.7 deprecates this header. Content in such an encoding would be taken for the bytes themselves.
  if (!/^(?:7bit|8bit|binary)?$/i.test(headers.get('content-transfer-encoding')?.trim() ?? '')) {
    throw invalidMultipart(`The part "${name}" has a Content-Transfer-Encoding; send its bytes as they are.`)
  }
  const filename = disposition.params.get('filename')
  const type = parseHeaderValue(headers.get('content-type') ?? '').value
  return {
    name,
    // RFC 7578, 4.4
    mimeType: type || 'text/plain',
    statesType: type !== '',
    ...(filename !== undefined && { filename: baseName(filename) }),
  }
}

function decodeHead(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('malformed', 'The headers of a part are not UTF-8; encode names in UTF-8.', {
      code: 'INVALID_MULTIPART',
      cause,
    })
  }
}

/** Some clients send the full path of the file. Only the file name is kept. */
function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

const PARAM = /;[ \t]*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))[ \t]*/y

/** Parses `form-data; name="a"; filename="b"`. The value is in lower case and without parameters. */
function parseHeaderValue(text: string): { value: string; params: Map<string, string> } {
  const semicolon = text.indexOf(';')
  const value = (semicolon < 0 ? text : text.slice(0, semicolon)).trim().toLowerCase()
  const params = new Map<string, string>()
  const pattern = new RegExp(PARAM)
  pattern.lastIndex = semicolon < 0 ? text.length : semicolon
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const name = (match[1] as string).toLowerCase()
    if (name.endsWith('*')) setExtended(params, name.slice(0, -1), match[3] ?? '')
    else if (!params.has(name)) params.set(name, match[3] ?? unquote(match[2] ?? ''))
  }
  return { value, params }
}

/** Quoted pairs as in RFC 9110, and the three characters that browsers percent-encode (HTML, "multipart"). */
function unquote(text: string): string {
  return text
    .replace(/\\(["\\])/g, '$1')
    .replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** RFC 8187: `filename*=UTF-8''na%C3%AFve.txt`. It overrides the plain form. */
function setExtended(params: Map<string, string>, name: string, text: string): void {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(text)?.[1]
  if (encoded === undefined) throw invalidMultipart(`"${name}*" of a part must be in UTF-8; send it as UTF-8''….`)
  try {
    params.set(name, decodeURIComponent(encoded))
  } catch (cause) {
    throw new Fault('malformed', `"${name}*" of a part has an invalid percent escape; encode it as UTF-8.`, {
      code: 'INVALID_MULTIPART',
      cause,
    })
  }
}
