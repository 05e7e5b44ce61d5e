/**
 * The log: pino, one JSON object per line. Every line passes through the redactor on its way out, whoever wrote it,
 * and loses what looks like a caller's credential. Where lines go, and how a terminal shows them, is for others.
 */
import { pino } from 'pino'
import type { JsonValue } from '../core/json.ts'
import type { Log } from '../core/ports.ts'
import { errorFields } from './error-fields.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LogOptions {
  level?: LogLevel
  /** Standard output unless given. Receives whole lines. */
  destination?: { write(line: string): unknown }
  redactor?: LineRedactor
}

/** The part of a redactor the log needs. */
interface LineRedactor {
  redact(text: string): string
  redactJson(value: JsonValue): JsonValue
}

// Nobody should log a caller's credential, and nobody knows its value to redact it; so fields by these names, our own
// tokens and JWTs go by their looks. This is for logs alone: an operation may have a token as its honest result.
const CREDENTIAL_FIELDS =
  /"(authorization|proxy-authorization|x-api-key|cookie|set-cookie|credential|password|access_token)":"(?:[^"\\]|\\.)*"/gi
const CREDENTIALS = /\bcp_[\w-]{43}|\beyJ[\w-]{8,}\.eyJ[\w-]+\.[\w-]*|\b(Bearer|Basic) [\w~+/.=-]{8,}/g

export function createLog({ level = 'info', destination, redactor }: LogOptions = {}): Log {
  const out = destination ?? pino.destination({ dest: 1, sync: true })
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields, error: errorFields, cause: errorFields },
    },
    { write: (line: string) => void out.write(cleanLine(line, redactor)) },
  )
}

function cleanLine(line: string, redactor: LineRedactor | undefined): string {
  // Found in the text, mended in the structure: a secret made of digits could stand inside a number.
  const known =
    redactor && redactor.redact(line) !== line
      ? `${JSON.stringify(redactor.redactJson(JSON.parse(line) as JsonValue))}\n`
      : line
  return known
    .replace(CREDENTIAL_FIELDS, '"$1":"[redacted]"')
    .replace(CREDENTIALS, (_match, scheme: string | undefined) => (scheme ? `${scheme} [redacted]` : '[redacted]'))
}
