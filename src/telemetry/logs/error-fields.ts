/**
 * An error as the log shows it, with its causes. Only fields known to be harmless are taken: libraries hang whole
 * requests, and with them credentials, on their errors.
 */
import { Fault } from '../../core/fault.ts'

const MAX_CAUSES = 5
/** Of one text in the log: a message may quote what a caller sent, and that is as long as the caller likes. */
export const MAX_TEXT = 8 * 1024

export type Redact = (text: string) => string

/** Secrets go first: the part of one that is left at the cut would not be found. */
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
