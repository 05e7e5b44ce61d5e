/** A recorded call with an attempt that runs on this node, and what can be derived from it. */

import { correlate } from '../../core/call/call.ts'
import { type Instance, type Outcome, startsOf } from '../../core/call/instance.ts'
import { type Questions, questionsIn } from '../../core/call/questions.ts'
import type { FaultKind } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Job } from '../attempt/job.ts'

export interface Running {
  attempt: Attempt
  instance: Instance
  operation: Operation
  /** Its end is being written. */
  concluding: boolean
}

export function jobOf(instance: Instance, operation: Operation): Job {
  const { id, caller, requestId, media, lineage, extras } = instance
  const job: Job = { id, operation, caller, requestId, media, lineage }
  correlate(job, instance)
  if (extras?.terms) job.terms = extras.terms
  if (extras?.asking) job.asking = extras.asking
  return job
}

/** True if an interrupted call may run again: it has no side effects, or it stored the state of its remote call. */
export function canGoOn({ rerunnable, waiting }: Instance): boolean {
  return rerunnable || waiting !== undefined
}

export function isHeld({ extras }: Instance): boolean {
  return extras?.held === true
}

/**
 * True if a repeat could duplicate an effect of this call. A handler that ends because a requirement is missing counts
 * as not started. The exceptions are a handler with side effects that ran before or has called other operations, and a
 * handler that lacks the approval of a child call while other child calls were accepted.
 */
export function mayHaveActed({ attempt, instance, operation }: Running, outcome: Outcome): boolean {
  const runBefore = startsOf(instance) > 1
  if (!isLacking(outcome)) return attempt.began || runBefore
  // A handler that asks questions always runs again from its start, and is written for that.
  if (outcome.kind === 'fault' && questionsIn(outcome.fault)) return false
  if (lacks(outcome, 'approval-pending') && attempt.othersBegan) return true
  return operation.sideEffecting && (attempt.calledOthers || runBefore)
}

export function isLacking(outcome: Outcome): boolean {
  return lacks(outcome, 'requirements-missing') || lacks(outcome, 'approval-pending')
}

function lacks(outcome: Outcome, kind: FaultKind): boolean {
  return outcome.kind === 'fault' && outcome.fault.kind === kind
}

/** True if the caller can return with answers and supports all of these questions. */
export function canWaitForAnswers({ extras }: Instance, questions: Questions): boolean {
  const { waits, kinds = [] } = extras?.asking ?? {}
  return waits === true && Object.values(questions).every(({ kind }) => kinds.includes(kind))
}
