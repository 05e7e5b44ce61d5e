/** Decides whether and when a failed attempt is tried again. */
import { type FaultRecord, wholeDelay } from '../../core/fault.ts'
import type { RetryRules } from '../../core/operation/rules.ts'

const BACKOFF_MS = 200
const MAX_BACKOFF_MS = 30_000
/** Upper limit for the delay that a tool requests. */
const MAX_RETRY_AFTER_MS = 3_600_000
/** Ten doublings exceed every sensible limit. This also keeps the number finite. */
const MAX_DOUBLINGS = 10

/**
 * The delay before a call runs again after a storage failure. It has jitter, because many calls fail at the same
 * moment.
 */
export function storageDelay(attempts: number, random: () => number): number {
  const delay = Math.min(BACKOFF_MS * 2 ** Math.min(attempts - 1, MAX_DOUBLINGS), MAX_BACKOFF_MS)
  return Math.round(delay / 2 + (delay / 2) * random())
}

/** The delay before the next attempt. `undefined` if the call is not tried again. `failures` includes this failure. */
export function retryDelay(
  rules: RetryRules,
  failures: number,
  fault: FaultRecord,
  random: () => number,
): number | undefined {
  if (!fault.retryable || failures >= rules.attempts) return undefined
  // Tool Contract v1, "Auth Error Codes": one retry with a new token. A second failure is permanent.
  if (fault.kind === 'credential-expired' && failures > 1) return undefined
  const cap = rules.maxBackoffMs ?? MAX_BACKOFF_MS
  const delay = Math.min((rules.backoffMs ?? BACKOFF_MS) * 2 ** Math.min(failures - 1, MAX_DOUBLINGS), cap)
  const spread =
    rules.jitter === 'full' ? delay * random() : rules.jitter === 'equal' ? delay / 2 + (delay / 2) * random() : delay
  // Validated again, because the record may come from a store or from another copy of this package.
  return Math.max(Math.round(spread), Math.min(wholeDelay(fault.retryAfterMs) ?? 0, MAX_RETRY_AFTER_MS))
}
