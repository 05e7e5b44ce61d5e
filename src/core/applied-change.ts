/** What a change makes of an instance: what a store does to its row, for those who know the instance before it. */
import type { Instance } from './model.ts'
import type { Change } from './ports.ts'

/** Only for a change that was applied, to an instance that nothing has touched since it was as `before`. */
export function applyChange(before: Instance, change: Change): Instance {
  // Taken apart, not deleted from: that would make every instance a slow object.
  const { dueAt: _due, idempotencyKey, waiting, answer, ...kept } = before
  const after: Instance = { ...kept, state: change.to, revision: before.revision + 1 }
  if (idempotencyKey !== undefined && !change.releaseKey) after.idempotencyKey = idempotencyKey
  if (change.dueAt !== undefined) after.dueAt = change.dueAt
  if (change.outcome) after.outcome = change.outcome
  if (change.settled !== undefined) after.settled = change.settled
  if (change.failures !== undefined) after.failures = change.failures
  if (change.expiresAt !== undefined) after.expiresAt = change.expiresAt
  if (change.keepUntil !== undefined) after.keepUntil = change.keepUntil
  if (change.endedAt !== undefined) after.endedAt = change.endedAt
  if (change.extras) after.extras = change.extras
  if (change.waiting === null) return after
  const waits = change.waiting ?? waiting
  if (waits !== undefined) after.waiting = waits
  if (answer !== undefined) after.answer = answer
  return after
}
