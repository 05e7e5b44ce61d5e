/** Gives back calls whose handlers were not started, such as for lack of a slot. */
import { type Instance, startsOf } from '../../core/call/instance.ts'
import type { Conclusions } from '../end/conclusions.ts'
import type { Limits } from '../limits/limits.ts'

/** True if the call was in the queue until this claim. */
export function leavesQueue(claimed: Instance): boolean {
  return startsOf(claimed) === 1 && claimed.extras?.held !== true
}

/** The last claims of this call have started no handler. */
export function withoutStart(claimed: Instance, claims: number): Instance {
  const { extras } = claimed
  return { ...claimed, extras: { ...extras, unbegun: (extras?.unbegun ?? 0) + claims } }
}

/** A call that was never started is queued again. */
export async function giveBackUnbegun(
  { conclusions, limits }: { conclusions: Conclusions; limits: Limits },
  instance: Instance,
  dueAt?: number,
): Promise<void> {
  const queues = leavesQueue(instance)
  // Before the write: the next claim may return the call before the write returns.
  if (queues) limits.enqueued(instance)
  const after = await conclusions.giveBackUnbegun(instance, dueAt)
  if (queues && !after) limits.dequeued(instance)
}
