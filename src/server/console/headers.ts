/**
 * The headers of the console's page and files. The page shows results that anybody may have written, so it may run its
 * own files only, and nothing in it can reach another site.
 */
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import { acceptsEncoding, hasTag } from '../../wire/http/representations.ts'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  // Results are shown from memory: images, sound and, after a click, PDF documents.
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  'frame-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No text becomes HTML or code. One policy is named, for the address of a worker.
  "require-trusted-types-for 'script'",
  'trusted-types callplane',
].join('; ')

const SHARED = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...SHARED,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Cache-Control': 'no-cache',
}

/** An SVG image that is opened as a document of its own runs nothing. */
const AS_DOCUMENT = { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" }

export function fileHeaders(mediaType: string, isHashed: boolean): Record<string, string> {
  return {
    ...SHARED,
    'Content-Type': mediaType,
    ...(mediaType === 'image/svg+xml' && AS_DOCUMENT),
    'Cache-Control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
}

export interface Forms {
  tag: string
  plain: Uint8Array
  readonly br?: Uint8Array
  readonly gzip?: Uint8Array
}

/** The smallest form that the client accepts. Each form has its own ETag. */
export function chooseForm(exchange: Exchange, forms: Forms, headers: Readonly<Record<string, string>>): Answer {
  const accepted = exchange.header('accept-encoding')
  // A form may be made on demand, so it is asked for only if it is accepted.
  const encoding = (['br', 'gzip'] as const).find((each) => acceptsEncoding(accepted, each) && forms[each])
  const etag = encoding ? `"${forms.tag}-${encoding}"` : `"${forms.tag}"`
  const all = { ...headers, ETag: etag, Vary: 'Accept-Encoding', ...(encoding && { 'Content-Encoding': encoding }) }
  const tags = [`"${forms.tag}"`, `"${forms.tag}-br"`, `"${forms.tag}-gzip"`]
  if (hasTag(exchange.header('if-none-match'), tags)) return { status: 304, headers: all }
  return { status: 200, headers: all, body: (encoding && forms[encoding]) ?? forms.plain }
}
