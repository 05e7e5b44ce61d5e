/** Describes a failure to a model: the error, whether to try again, when, and with what. */
import type { Fault, FaultKind } from '../core/fault.ts'

/** The code of a response to a call that is still running. Its message says how to ask for the result. */
export const STILL_RUNNING = 'STILL_RUNNING'

/** Leaves out `developerMessage`, which is not for the model. */
export function textForModel(fault: Fault): string {
  const parts = [fault.message, retryAdvice(fault), fault.promptContent ?? '']
  return parts.filter((part) => part !== '').join('\n')
}

/** Kinds whose message already says what to do next. */
const SAYS_WHAT_TO_DO = new Set<FaultKind>([
  'invalid-input',
  'requirements-missing',
  'approval-pending',
  'approval-expired',
  'conflict',
])

function retryAdvice({ kind, code, retryable, retryAfterMs }: Fault): string {
  if (SAYS_WHAT_TO_DO.has(kind) || code === STILL_RUNNING) return ''
  if (!retryable) return 'Calling again with the same arguments will not help.'
  if (retryAfterMs === undefined) return 'Calling again with the same arguments may help.'
  return `Calling again with the same arguments may help, in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`
}
