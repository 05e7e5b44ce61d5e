/**
 * The log: pino, one JSON object per line. Every line passes through the redactor, and text that looks like a caller's
 * credential is removed. Other files choose the destination and format lines for a terminal.
 */
import { type Logger, pino } from 'pino'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { type CollectingOutput, collectLines, isStandardOutput, type LineOutput } from './collected-lines.ts'
import { mayHoldCredential, withoutCredentials } from './credentials.ts'
import { cutText, errorFields, MAX_TEXT, type Redact } from './error-fields.ts'
import { LINES, type LineLog, type WriteLine } from './lines.ts'
import { createTimeText } from './time-text.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface LogOptions {
  level?: LogLevel
  /** Default: standard output. Receives one whole line per write; standard output receives lines in batches. */
  destination?: LineOutput
  redactor?: LineRedactor
}

/** The part of a redactor that the log uses. */
interface LineRedactor {
  redact(text: string): string
  redactJson(value: JsonValue): JsonValue
}

export function createLog({ level = 'info', destination, redactor }: LogOptions = {}): Log {
  const out = outputTo(destination)
  const timeText = createTimeText()
  const redact = (text: string) => redactor?.redact(text) ?? text
  const describe = (thrown: unknown) => errorFields(thrown, redact)
  const log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${timeText(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }), log: (fields) => cutFields(fields, redact) },
      serializers: { err: describe, error: describe, cause: describe },
    },
    { write: (line: string) => void out.write(cleanLine(line, redactor)) },
  )
  const lines: Pick<LineLog, typeof LINES> = {
    // Child loggers inherit this method, so `this` may be a child.
    [LINES](this: Logger, message: string): WriteLine {
      if (!this.isLevelEnabled('info')) return () => {}
      const added = bindingsOf(this)
      const end = `,"msg":"${message}"}\n`
      let lastMs = Number.NaN
      let begun = ''
      return (members) => {
        const now = Date.now()
        if (now !== lastMs) begun = `{"level":"info","time":"${timeText(now)}"${added}`
        lastMs = now
        const line = begun + members + end
        const known = redactor !== undefined && redactor.redact(line) !== line
        out.writeLater(known || line.length > MAX_TEXT ? cutLine(cleanLine(line, redactor)) : line)
      }
    },
  }
  return Object.assign(log, lines)
}

function outputTo(destination: LineOutput | undefined): CollectingOutput {
  if (!destination || isStandardOutput(destination)) return collectLines(destination)
  const write = (line: string) => void destination.write(line)
  return { write, writeLater: write }
}

/** The fields that a child adds to every line, as the members of an object. */
function bindingsOf(log: Logger): string {
  const text = JSON.stringify(withoutCredentials(log.bindings() as JsonObject)).slice(1, -1)
  return text && `,${text}`
}

/** Cuts only top-level fields: nested values belong to the application. */
function cutFields(fields: Record<string, unknown>, redact: Redact): Record<string, unknown> {
  let short = fields
  for (const name in fields) {
    const value = fields[name]
    if (typeof value === 'string' && value.length > MAX_TEXT) short = { ...short, [name]: cutText(value, redact) }
  }
  return short
}

/** Cuts the fields of a line that was built as text, after redaction. */
function cutLine(line: string): string {
  if (line.length <= MAX_TEXT) return line
  return `${JSON.stringify(cutFields(JSON.parse(line), (text) => text))}\n`
}

/**
 * Searches the text, but redacts the parsed line: a secret may have characters that JSON escapes, or be part of a
 * number.
 */
function cleanLine(line: string, redactor: LineRedactor | undefined): string {
  const known = redactor !== undefined && redactor.redact(line) !== line
  const suspect = mayHoldCredential(line)
  if (!known && !suspect) return line
  let value = JSON.parse(line) as JsonValue
  if (known) value = redactor.redactJson(value)
  if (suspect) value = withoutCredentials(value)
  return `${JSON.stringify(value)}\n`
}
