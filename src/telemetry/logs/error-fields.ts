/**
 * Turns an error and its causes into log fields. Only fields known to be harmless are copied, because libraries attach
 * whole requests, with credentials, to their errors.
 */
import { Fault } from '../../core/fault.ts'

const MAX_CAUSES = 5
/** The longest text in the log. A message may quote input of any length from a caller. */
export const MAX_TEXT = 8 * 1024

export type Redact = (text: string) => string

/** Redacts before cutting, because a secret that was cut in two would no longer be found. */
export function cutText(text: string, redact: Redact): string {
  return text.length <= MAX_TEXT ? text : `${redact(text).slice(0, MAX_TEXT).toWellFormed()}…`
}

export function errorFields(thrown: unknown, redact: Redact): unknown {
  return describe(thrown, redact, MAX_CAUSES)
}

function describe(thrown: unknown, redact: Redact, causesLeft: number): unknown {
  if (!(thrown instanceof Error))
    return typeof thrown === 'object' && thrown !== null
      ? 'an object, not an error'
      : typeof thrown === 'string'
        ? cutText(thrown, redact)
        : thrown
  const code = 'code' in thrown && typeof thrown.code !== 'object' ? thrown.code : undefined
  const causes = thrown instanceof AggregateError ? thrown.errors.slice(0, MAX_CAUSES) : []
  return {
    type: thrown.name,
    message: cutText(thrown.message, redact),
    ...(code !== undefined && { code }),
    ...(thrown instanceof Fault && { kind: thrown.kind }),
    ...(thrown.stack !== undefined && { stack: cutText(thrown.stack, redact) }),
    ...(thrown.cause !== undefined && causesLeft > 0 && { cause: describe(thrown.cause, redact, causesLeft - 1) }),
    ...(causes.length > 0 &&
      causesLeft > 0 && { errors: causes.map((cause) => describe(cause, redact, causesLeft - 1)) }),
  }
}
