/** A recorded call while an attempt of it runs here, and what can be told of it. */

import { correlate } from '../../core/call.ts'
import type { FaultKind } from '../../core/fault.ts'
import type { Instance, Outcome } from '../../core/instance.ts'
import type { Operation } from '../../core/operation.ts'
import { type Questions, questionsIn } from '../../core/questions.ts'
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

/** Whether it may be taken up after it was cut off: it has no effects, or knows where it stands with the other side. */
export function canGoOn({ rerunnable, waiting }: Instance): boolean {
  return rerunnable || waiting !== undefined
}

export function isHeld({ extras }: Instance): boolean {
  return extras?.held === true
}

/**
 * Whether a repeat could do twice what this call has done. A handler that ends by saying what it lacks counts as not
 * started, unless it has effects and has been run before or has called others: then some of them may have happened.
 * Where it lacks the approval of a call it makes, others that were not refused may have done something in any case.
 */
export function mayHaveActed({ attempt, instance, operation }: Running, outcome: Outcome): boolean {
  const runBefore = instance.attempt > 1
  if (!isLacking(outcome)) return attempt.began || runBefore
  // One that asks is run again from its start in any case, and knows it.
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

/** Whether its caller can come back with answers, and can be asked all of these. */
export function canWaitForAnswers({ extras }: Instance, questions: Questions): boolean {
  const { waits, kinds = [] } = extras?.asking ?? {}
  return waits === true && Object.values(questions).every(({ kind }) => kinds.includes(kind))
}
