/** The faults that end a call without its handler. */

import type { Outcome } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'

export function faultOutcome(fault: Fault): Outcome {
  return { kind: 'fault', fault: fault.toRecord() }
}

/** The name of an outcome for metrics: `complete`, or the kind of the fault. */
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
  return new Fault('unavailable', 'The server is shutting down. The call continues later or on another server.', {
    code: 'SHUTTING_DOWN',
  })
}

export function leaseLost(): Fault {
  return new Fault('unavailable', 'Another worker has taken over this call.', { code: 'LEASE_LOST' })
}

export function outcomeUnknown(): Fault {
  return new Fault(
    'outcome-unknown',
    'The server stopped while this call ran. It may or may not have had an effect. Check before you call again.',
  )
}

export function givenUp(cutOffs: number): Fault {
  return new Fault(
    'internal',
    `The call was interrupted ${cutOffs} times before it could end, and is not tried again.`,
    {
      code: 'CUT_OFF',
    },
  )
}
