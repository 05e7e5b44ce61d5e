/** Where an idempotency key matters. */
import type { Operation } from './operation.ts'

/** Whether a repeated key joins the first call: wherever a repeat could do harm or be costly. A plain query is asked again. */
export function isKeyed(operation: Operation): boolean {
  return operation.model === 'async' || operation.sideEffecting || operation.idempotencyRequired
}
