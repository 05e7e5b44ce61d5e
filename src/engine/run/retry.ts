/** Whether a failed attempt is tried again, and when. */
import { type FaultRecord, wholeDelay } from '../../core/fault.ts'
import type { RetryRules } from '../../core/operation.ts'

const BACKOFF_MS = 200
const MAX_BACKOFF_MS = 30_000
/** Whatever a tool asks for, it is looked at again after this. */
const MAX_RETRY_AFTER_MS = 3_600_000
/** Past ten doublings every sensible cap has been reached; it also keeps the number finite. */
const MAX_DOUBLINGS = 10

/** Before a call is run again that the server's own storage has failed. Spread, since many fail at the same moment. */
export function storageDelay(attempts: number, random: () => number): number {
  const delay = Math.min(BACKOFF_MS * 2 ** Math.min(attempts - 1, MAX_DOUBLINGS), MAX_BACKOFF_MS)
  return Math.round(delay / 2 + (delay / 2) * random())
}

/** The delay before the next attempt, or undefined if this failure is the end. `failures` counts this one. */
export function retryDelay(
  rules: RetryRules,
  failures: number,
  fault: FaultRecord,
  random: () => number,
): number | undefined {
  if (!fault.retryable || failures >= rules.attempts) return undefined
  // Tool Contract v1, "Auth Error Codes": one retry, with a token that is fresh; a second time it is no accident.
  if (fault.kind === 'credential-expired' && failures > 1) return undefined
  const cap = rules.maxBackoffMs ?? MAX_BACKOFF_MS
  const delay = Math.min((rules.backoffMs ?? BACKOFF_MS) * 2 ** Math.min(failures - 1, MAX_DOUBLINGS), cap)
  const spread =
    rules.jitter === 'full' ? delay * random() : rules.jitter === 'equal' ? delay / 2 + (delay / 2) * random() : delay
  // Measured once more: a record may come from a store, or from another copy of this package.
  return Math.max(Math.round(spread), Math.min(wholeDelay(fault.retryAfterMs) ?? 0, MAX_RETRY_AFTER_MS))
}
