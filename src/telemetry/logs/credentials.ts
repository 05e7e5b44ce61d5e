/**
 * Removes callers' credentials from the log. Their values are not known, so they are recognized by field names and by
 * the shape of our own tokens and of JWTs. Only logs use this: an operation may legitimately return a token as its
 * result.
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

// Callers choose paths, so each pattern takes time in proportion to the text. A JWT is matched only from the start of a
// word: if every "eyJ" of "eyJ-eyJ-eyJ…" started an attempt, each would read to the end.
const LOOKS = /\bcp_[\w-]{43}|(?<![\w-])[\w-]{8,}\.eyJ[\w-]+\.[\w-]*|\b(Bearer|Basic) [\w~+/.=-]{8,}/g
const SUSPECT = new RegExp(`cp_|\\.eyJ|bearer |basic |"(?:${[...FIELDS].join('|')})"`, 'i')

// Characters that JSON escapes, and the beginnings of matches of LOOKS.
const NOT_PLAIN = /[^ !#-[\]-\ud7ff\ue000-\uffff]|cp_|\.eyJ|Bearer |Basic /

/** Quotes a text chosen by a caller as JSON without credentials, for lines built as text. The log shortens it. */
export function quoteText(text: string): string {
  return NOT_PLAIN.test(text) ? JSON.stringify(maskText(text)) : `"${text}"`
}

/** A quick test of the line's text, so that most lines are written unchanged. */
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
