/** The faults for approvals that do not let a call run, for callers and for the people who decide. */

import { Fault } from '../../core/fault.ts'
import type { Approval } from './approval-book.ts'

/** People take a while to decide. A shorter interval would only produce more of the same faults. */
const RETRY_AFTER_MS = 10_000

/** `nested`: a handler made the call. Its caller can only repeat the call that started the handler. */
export function pending({ id, operation, expiresAt, rule }: Approval, nested: boolean): Fault {
  const until = new Date(expiresAt).toISOString()
  // If the handler had side effects before it made this call, its own call has ended and its idempotency key stays
  // used.
  const advice = nested
    ? 'Call again after the approval. If you get this error again, use a new idempotency key.'
    : 'Send the same call again after the approval.'
  const message = `${nameOf(operation)} needs an approval. It can be approved until ${until}. ${advice}`
  return new Fault('approval-pending', message, {
    details: { approval_id: id, expires_at: until, ...(rule !== undefined && { rule }) },
  })
}

export function undecided(operation: string): Fault {
  return new Fault(
    'approval-expired',
    `${nameOf(operation)} was not approved in time. Call again to request a new approval.`,
  )
}

export function unusedInTime(operation: string): Fault {
  const message = `The approval of ${nameOf(operation)} expired before it was used. Call again to request a new one.`
  return new Fault('approval-expired', message)
}

export function deniedApproval({ id, operation, decision }: Approval): Fault {
  const why = decision?.why === undefined ? '' : `: ${decision.why}`
  return new Fault('approval-denied', `The approval of ${nameOf(operation)} was denied${why}.`, {
    details: { approval_id: id },
  })
}

/** For calls of an older version, which could be killed between the writes of the call and its approval. */
export function lostApproval(operation: string): Fault {
  const message = `The approval of ${nameOf(operation)} was lost when a server was killed. Call again to request a new one.`
  return new Fault('approval-expired', message)
}

export function callEnded(): Fault {
  return new Fault('conflict', 'The call ended before the decision: it was canceled, or it expired.', {
    code: 'CALL_ENDED',
  })
}

export function tooManyPending(most: number): Fault {
  const message = `You have ${most} calls that wait for an approval. Wait until some of them are decided.`
  return new Fault('overloaded', message, { code: 'TOO_MANY_PENDING_APPROVALS', retryAfterMs: RETRY_AFTER_MS })
}

/** The approval changed before each of several attempts to write it. */
export function contended(): Fault {
  return new Fault('overloaded', 'Other requests are changing this approval. Try again.', {
    code: 'APPROVAL_CONTENDED',
    retryAfterMs: 1_000,
  })
}

function nameOf(key: string): string {
  return key.split('@', 1)[0] as string
}
