/** The limits a call runs under: the operation's, and the tighter of the two where the call names its own. */

import type { CallTerms } from '../../core/call.ts'
import type { EffectiveTerms, Operation } from '../../core/operation.ts'

export function effectiveTerms(operation: Operation, asked: CallTerms | undefined): EffectiveTerms {
  const { timeoutMs, retry } = operation
  if (!asked) return timeoutMs === undefined ? { retry } : { timeoutMs, retry }
  const limitMs = tighter(timeoutMs, asked.timeoutMs)
  const maxBackoffMs = tighter(retry.maxBackoffMs, asked.maxBackoffMs)
  return {
    ...(limitMs !== undefined && { timeoutMs: limitMs }),
    retry: {
      ...retry,
      attempts: Math.min(retry.attempts, asked.attempts ?? retry.attempts),
      ...(maxBackoffMs !== undefined && { maxBackoffMs }),
    },
  }
}

/** How long all attempts together may take. */
export function deadlineOf({ deadlineMs }: Operation, asked: CallTerms | undefined): number | undefined {
  return tighter(deadlineMs, asked?.deadlineMs)
}

function tighter(own: number | undefined, asked: number | undefined): number | undefined {
  if (own === undefined || asked === undefined) return own ?? asked
  return Math.min(own, asked)
}
