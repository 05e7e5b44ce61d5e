/**
 * Stores the credentials that a tool receives for as long as its call may wait. This applies only to operations that
 * send credentials and can wait.
 */

import type { Instance } from '../../core/call/instance.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { AttemptRun } from '../attempt/attempt-run.ts'
import type { AttemptParts } from '../attempt/job.ts'

export function showingOf(
  { shown }: AttemptParts,
  { id, attempt, expiresAt }: Instance,
  operation: Operation,
): Pick<AttemptRun, 'keepShown' | 'recallShown'> {
  if (!shown || !showsAndWaits(operation)) return {}
  return {
    keepShown: (values) => shown.keep(id, values, expiresAt),
    ...(attempt > 1 && { recallShown: () => shown.recall(id) }),
  }
}

export function showsAndWaits({ backend, auth }: Operation): boolean {
  return auth !== undefined && backend.resume !== undefined
}
