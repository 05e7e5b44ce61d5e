/** Decides whether an idempotency key applies. */
import type { Operation } from './operation.ts'

/** True if a repeated key joins the first call. A plain query runs again, because a repeat is harmless. */
export function isKeyed(operation: Operation): boolean {
  return operation.model === 'async' || operation.sideEffecting || operation.idempotencyRequired
}
