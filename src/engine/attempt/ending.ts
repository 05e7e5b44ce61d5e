/** How an attempt can end. */

import type { Outcome } from '../../core/call/instance.ts'
import { questionsIn } from '../../core/call/questions.ts'
import { Fault } from '../../core/fault.ts'
import type { Deferred } from '../../core/operation/returned.ts'

/** Maximum length of a failure's message, because a remote tool may send a message of any length. */
const MAX_MESSAGE = 4_000

/** How an attempt ended: with an outcome, or by leaving the call waiting. */
export type Ending = Outcome | Deferral

export interface Deferral {
  kind: 'deferred'
  deferred: Deferred
}

/** True if the call continues later, with a callback or with its caller's answers. */
export function isWaiting(ending: Ending): ending is Deferral {
  return ending.kind === 'deferred' || (ending.kind === 'fault' && questionsIn(ending.fault) !== undefined)
}

/** Runs after redaction, because a truncated secret would not be found. */
export function bounded(ending: Ending): Ending {
  if (ending.kind !== 'fault' || ending.fault.message.length <= MAX_MESSAGE) return ending
  const { fault } = ending
  const message = `${fault.message.slice(0, MAX_MESSAGE)}…`
  const { exceptionText } = fault
  const short = Fault.fromRecord({ ...fault, message, ...(exceptionText !== undefined && { exceptionText }) })
  return { ...ending, fault: short.toRecord() }
}

/** Without a limit for one attempt, it was the deadline for all attempts that passed. */
export function timedOut(limitMs: number | undefined): Fault {
  if (limitMs === undefined) return new Fault('timeout', 'The operation did not finish by its deadline.')
  return new Fault('timeout', `The operation did not finish within ${limitMs} ms.`, { details: { timeoutMs: limitMs } })
}
