/** One request and its response, as a person sees them. Credentials are masked before anything is kept. */

export interface Exchange {
  method: string
  /** Below the server's address. */
  path: string
  headers: readonly Header[]
  /** Text, cut if it is long. Absent if nothing was sent. */
  body?: Cut
  /** Set when the response has begun. */
  response?: {
    status: number
    headers: readonly Header[]
    /** Absent while it is being read, and for bytes. */
    body?: Cut
    /** As they came, before they were unpacked. */
    bytes: number
  }
  /** Milliseconds since the page was opened. */
  startedAt: number
  firstByteAt?: number
  endedAt?: number
  /** The connection failed. */
  problem?: string
}

export type Header = readonly [name: string, value: string]

export interface Cut {
  text: string
  /** Characters of the whole. */
  length: number
}

const MAX_KEPT = 256 * 1024

export function cut(text: string): Cut {
  return { text: text.slice(0, MAX_KEPT), length: text.length }
}

const SECRET = /^(?:authorization|proxy-authorization|cookie|set-cookie|(?:[\w-]*-)?(?:api-?key|token|secret))$/i
const MASK = '••••••••'

export function maskedHeaders(headers: Iterable<Header>): Header[] {
  return Array.from(headers, ([name, value]) => [name, SECRET.test(name) ? maskValue(value) : value] as const)
}

/** The scheme is no secret, and tells what kind of credential was sent. */
function maskValue(value: string): string {
  const [scheme, ...rest] = value.split(' ')
  return rest.length > 0 ? `${scheme} ${MASK}` : MASK
}

/** One-time keys of streams and files in a response are credentials, too. */
export function maskedBody(text: string): string {
  return text.replaceAll(/("credential"\s*:\s*")(?:[^"\\]|\\.)*"/g, `$1${MASK}"`)
}
