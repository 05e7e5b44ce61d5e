/** The limits of a call: the operation's own, or the call's if they are tighter. */

import type { CallTerms } from '../../core/call/call.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { EffectiveTerms } from '../../core/operation/rules.ts'

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

/** The time limit for all attempts together. */
export function deadlineOf({ deadlineMs }: Operation, asked: CallTerms | undefined): number | undefined {
  return tighter(deadlineMs, asked?.deadlineMs)
}

function tighter(own: number | undefined, asked: number | undefined): number | undefined {
  if (own === undefined || asked === undefined) return own ?? asked
  return Math.min(own, asked)
}
