/** Applies a stored change to an instance in memory, as a store applies it to its row. */

import type { Change } from '../ports/store.ts'
import { correlate } from './call.ts'
import type { Instance, InstanceDraft } from './instance.ts'

/** Use it only for a change that the store applied to exactly this `before`. */
export function applyChange(before: Instance, change: Change): Instance {
  const after = keptOf(before, change)
  const { idempotencyKey, waiting, answer } = before
  const { dueAt } = change
  const outcome = change.outcome ?? before.outcome
  const endedAt = change.endedAt ?? before.endedAt
  const extras = change.extras ?? before.extras
  if (idempotencyKey !== undefined && !change.releaseKey) after.idempotencyKey = idempotencyKey
  if (dueAt !== undefined) after.dueAt = dueAt
  if (outcome) after.outcome = outcome
  if (endedAt !== undefined) after.endedAt = endedAt
  if (extras) after.extras = extras
  if (change.waiting === null) return after
  const waits = change.waiting ?? waiting
  if (waits !== undefined) after.waiting = waits
  if (answer !== undefined) after.answer = answer
  return after
}

/**
 * Copies field by field: deleting the due time from a copied object took 3 % of a durable call. A test checks that no
 * field is missing.
 */
function keptOf(before: Instance, change: Change): InstanceDraft {
  const times = before.told ? change : (change.untold ?? change)
  const kept: InstanceDraft = {
    id: before.id,
    tenant: before.tenant,
    owner: before.owner,
    caller: before.caller,
    requestId: before.requestId,
    operation: before.operation,
    model: before.model,
    args: before.args,
    media: before.media,
    lineage: before.lineage,
    state: change.to,
    revision: before.revision + 1,
    attempt: before.attempt,
    settled: change.settled ?? before.settled,
    failures: change.failures ?? before.failures,
    rerunnable: before.rerunnable,
    stopRequested: before.stopRequested,
    createdAt: before.createdAt,
    expiresAt: times.expiresAt ?? before.expiresAt,
    keepUntil: times.keepUntil ?? before.keepUntil,
  }
  correlate(kept, before)
  if (before.fingerprint !== undefined) kept.fingerprint = before.fingerprint
  if (before.told) kept.told = true
  if (before.progress) kept.progress = before.progress
  return kept
}
