/** What callers and those who decide are told of an approval that does not let a call run, each worded once. */

import { Fault } from '../../core/fault.ts'
import type { Approval } from './approval-book.ts'

/** What somebody decides in a while; a caller who is told to come back sooner would only be told so again. */
const RETRY_AFTER_MS = 10_000

/** `nested`: a handler's call, whose caller can only send the call again that the handler was run for. */
export function pending({ id, operation, expiresAt, rule }: Approval, nested: boolean): Fault {
  const until = new Date(expiresAt).toISOString()
  // A handler that has done something before it made this call ends for good, and keeps the key it was called with.
  const advice = nested
    ? 'Call again once it is; if the answer is still this one, under a new idempotency key.'
    : 'Send the same call again once it is.'
  const message = `${nameOf(operation)} needs an approval, which can be given until ${until}. ${advice}`
  return new Fault('approval-pending', message, {
    details: { approval_id: id, expires_at: until, ...(rule !== undefined && { rule }) },
  })
}

export function undecided(operation: string): Fault {
  return new Fault('approval-expired', `Nobody approved ${nameOf(operation)} in time. Call again to ask anew.`)
}

export function unusedInTime(operation: string): Fault {
  const message = `The approval of ${nameOf(operation)} was not used in its time. Call again to ask anew.`
  return new Fault('approval-expired', message)
}

export function deniedApproval({ id, operation, decision }: Approval): Fault {
  const why = decision?.why === undefined ? '' : `: ${decision.why}`
  return new Fault('approval-denied', `The approval of ${nameOf(operation)} was denied${why}.`, {
    details: { approval_id: id },
  })
}

/** Of an older version, which could be killed between the call and its approval. */
export function lostApproval(operation: string): Fault {
  const message = `The approval of ${nameOf(operation)} was lost when a server was killed. Call again to ask anew.`
  return new Fault('approval-expired', message)
}

export function callEnded(): Fault {
  return new Fault('conflict', 'The call ended before it was decided: it was canceled, or its time is over.', {
    code: 'CALL_ENDED',
  })
}

export function tooManyPending(most: number): Fault {
  const message = `${most} calls of yours wait for an approval. Wait until some of them are decided.`
  return new Fault('overloaded', message, { code: 'TOO_MANY_PENDING_APPROVALS', retryAfterMs: RETRY_AFTER_MS })
}

/** What was seen of an approval was changed before it could be acted on, time after time. */
export function contended(): Fault {
  return new Fault('overloaded', 'This approval is being changed by others at the moment. Try again.', {
    code: 'APPROVAL_CONTENDED',
    retryAfterMs: 1_000,
  })
}

function nameOf(key: string): string {
  return key.split('@', 1)[0] as string
}
