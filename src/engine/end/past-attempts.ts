/**
 * The history of a call's attempts. An attempt that does not end its call is written with the change that follows it. An
 * attempt that was cut off is written by the store, when a worker takes the call again. The last attempt needs no entry:
 * the call itself has its outcome.
 */
import { type Instance, startsOf } from '../../core/call/instance.ts'
import type { FaultRecord } from '../../core/fault.ts'
import type { PastAttempt } from '../../core/ports/call-list.ts'

/** The history shows what happened. The log has the rest. */
const MAX_MESSAGE = 500

export function failedAttempt(
  instance: Instance,
  { code, message }: Pick<FaultRecord, 'code' | 'message'>,
  endedAt: number,
  retryAt: number,
): PastAttempt {
  const said = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message
  return { attempt: startsOf(instance), outcome: 'failed', endedAt, code, message: said, retryAt }
}

/** This node stops, and another one runs the call again. */
export function handedOver(instance: Instance, endedAt: number): PastAttempt {
  return { attempt: startsOf(instance), outcome: 'cut-off', endedAt }
}

/** The call waited for its approval since its acceptance. */
export function heldUntil(instance: Instance, endedAt: number): PastAttempt {
  return { attempt: startsOf(instance), outcome: 'held', startedAt: instance.createdAt, endedAt }
}
