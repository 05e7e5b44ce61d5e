/**
 * Nobody should log a caller's credential, and nobody knows its value to redact it; so fields by certain names, our own
 * tokens and JWTs go by their looks. This is for logs alone: an operation may have a token as its honest result.
 */
import type { JsonValue } from '../../core/json.ts'

const FIELDS = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
  'set-cookie',
  'credential',
  'password',
  'access_token',
])
const MARK = '[redacted]'
const MAX_DEPTH = 200

// A caller chooses what stands in a path, so each of these takes time in proportion to the text. A JWT is looked for
// from the beginning of a word only: begun at every "eyJ" of "eyJ-eyJ-eyJ…", each attempt would read on to the end.
const LOOKS = /\bcp_[\w-]{43}|(?<![\w-])[\w-]{8,}\.eyJ[\w-]+\.[\w-]*|\b(Bearer|Basic) [\w~+/.=-]{8,}/g
const SUSPECT = new RegExp(`cp_|\\.eyJ|bearer |basic |"(?:${[...FIELDS].join('|')})"`, 'i')

// What JSON escapes, or begins what LOOKS finds.
const NOT_PLAIN = /[^ !#-[\]-\ud7ff\ue000-\uffff]|cp_|\.eyJ|Bearer |Basic /

/** A text that a caller chose, as JSON and as the log may show it: for lines put together as text. The log cuts it. */
export function quoteText(text: string): string {
  return NOT_PLAIN.test(text) ? JSON.stringify(maskText(text)) : `"${text}"`
}

/** A quick look at the line's text, to leave most lines as they are. */
export function mayHoldCredential(line: string): boolean {
  return SUSPECT.test(line)
}

export function withoutCredentials(value: JsonValue, depth = 0): JsonValue {
  if (typeof value === 'string') return maskText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return MARK
  if (Array.isArray(value)) return value.map((item) => withoutCredentials(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      maskText(name),
      FIELDS.has(name.toLowerCase()) && member !== null ? MARK : withoutCredentials(member, depth + 1),
    ]),
  )
}

function maskText(text: string): string {
  return text.replace(LOOKS, (_match, scheme: string | undefined) => (scheme ? `${scheme} ${MARK}` : MARK))
}
