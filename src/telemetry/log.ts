/**
 * The log: pino, one JSON object per line. Every line passes through the redactor on its way out, whoever wrote it,
 * and loses what looks like a caller's credential. Where lines go, and how a terminal shows them, is for others.
 */
import { pino } from 'pino'
import type { JsonValue } from '../core/json.ts'
import type { Log } from '../core/ports.ts'
import { mayHoldCredential, withoutCredentials } from './credentials.ts'
import { cutText, errorFields, MAX_TEXT } from './error-fields.ts'

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

export function createLog({ level = 'info', destination, redactor }: LogOptions = {}): Log {
  const out = destination ?? pino.destination({ dest: 1, sync: true })
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: cutFields },
      serializers: { err: errorFields, error: errorFields, cause: errorFields },
    },
    { write: (line: string) => void out.write(cleanLine(line, redactor)) },
  )
}

/** Only of the fields themselves: what an application logs further down is its own. */
function cutFields(fields: Record<string, unknown>): Record<string, unknown> {
  let short = fields
  for (const name in fields) {
    const value = fields[name]
    if (typeof value === 'string' && value.length > MAX_TEXT) short = { ...short, [name]: cutText(value) }
  }
  return short
}

/** Found in the text, mended in the structure: a secret may hold what JSON escapes, or stand inside a number. */
function cleanLine(line: string, redactor: LineRedactor | undefined): string {
  const known = redactor !== undefined && redactor.redact(line) !== line
  const suspect = mayHoldCredential(line)
  if (!known && !suspect) return line
  let value = JSON.parse(line) as JsonValue
  if (known) value = redactor.redactJson(value)
  if (suspect) value = withoutCredentials(value)
  return `${JSON.stringify(value)}\n`
}
