/** How a call can end that its handler did not end: the faults, each worded once. */
import { Fault } from '../../core/fault.ts'
import type { Outcome } from '../../core/instance.ts'

export function faultOutcome(fault: Fault): Outcome {
  return { kind: 'fault', fault: fault.toRecord() }
}

/** For counting: `complete`, or what kind of failure it was. */
export function outcomeName(outcome: Outcome): string {
  return outcome.kind === 'fault' ? outcome.fault.kind : 'complete'
}

export function canceled(): Fault {
  return new Fault('canceled', 'The call was canceled.')
}

export function expired(): Fault {
  return new Fault('timeout', 'The call expired before it ended.', { code: 'EXPIRED', retryable: false })
}

export function cutOffByShutdown(): Fault {
  return new Fault('unavailable', 'The server is shutting down; the call goes on elsewhere or later.', {
    code: 'SHUTTING_DOWN',
  })
}

export function leaseLost(): Fault {
  return new Fault('unavailable', 'Another worker has taken this call over.', { code: 'LEASE_LOST' })
}

export function outcomeUnknown(): Fault {
  return new Fault(
    'outcome-unknown',
    'The server stopped while this call ran, so its effect may or may not have happened. Check before you call again.',
  )
}

export function givenUp(cutOffs: number): Fault {
  return new Fault('internal', `The call was cut off ${cutOffs} times before it could end, and is not tried again.`, {
    code: 'CUT_OFF',
  })
}
