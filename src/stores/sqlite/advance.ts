/** Compare and set: the one way an instance changes state once it is taken in. */
import type { Database } from 'better-sqlite3'
import type { Instance } from '../../core/model.ts'
import type { Advanced, Change } from '../../core/ports.ts'
import { isTerminal } from '../../core/state.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import { decodeInstance, type InstanceRow } from './rows.ts'

export function prepareAdvance(db: Database, fresh: FreshInstances) {
  // The key is set in a statement of its own: naming its column would rewrite its index at the end of every call.
  const advanceSetting = (more: string) =>
    db.prepare(
      `UPDATE instances SET state = ?, ended = ?, revision = revision + 1, outcome = coalesce(?, outcome),
         settled = coalesce(?, settled), failures = coalesce(?, failures), due_at = ?,
         expires_at = coalesce(?, expires_at), keep_until = coalesce(?, keep_until) ${more}
       WHERE id = ? AND instr(?, state) AND attempt = coalesce(?, attempt)`,
    )
  const keepingKey = advanceSetting('')
  const releasingKey = advanceSetting(', idempotency_key = NULL')
  const byId = db.prepare<[string], InstanceRow>('SELECT * FROM instances WHERE id = ?')

  function read(id: string): Instance | undefined {
    const row = byId.get(id)
    return row && decodeInstance(row)
  }

  return {
    advance(change: Change): Action<Advanced> {
      const update = change.releaseKey ? releasingKey : keepingKey
      const values = [
        change.to,
        isTerminal(change.to) ? 1 : 0,
        change.outcome ? JSON.stringify(change.outcome) : null,
        change.settled ?? null,
        change.failures ?? null,
        change.dueAt ?? null,
        change.expiresAt ?? null,
        change.keepUntil ?? null,
        change.id,
        // No state's name is part of another's, so that one text can stand for the list.
        change.from.join(),
        change.attempt ?? null,
      ]
      return (changed) => {
        const applied = update.run(values).changes === 1
        const before = fresh.take(change.id)
        const instance = applied && before ? applyChange(before, change) : read(change.id)
        if (applied && instance) changed.push(instance)
        return instance ? { applied, instance } : { applied }
      }
    },
  }
}

/** What the statement above does to a row, done to an instance. */
function applyChange(before: Instance, change: Change): Instance {
  // Taken apart, not deleted from: that would make every instance a slow object.
  const { dueAt: _due, idempotencyKey, ...kept } = before
  const after: Instance = { ...kept, state: change.to, revision: before.revision + 1 }
  if (idempotencyKey !== undefined && !change.releaseKey) after.idempotencyKey = idempotencyKey
  if (change.dueAt !== undefined) after.dueAt = change.dueAt
  if (change.outcome) after.outcome = change.outcome
  if (change.settled !== undefined) after.settled = change.settled
  if (change.failures !== undefined) after.failures = change.failures
  if (change.expiresAt !== undefined) after.expiresAt = change.expiresAt
  if (change.keepUntil !== undefined) after.keepUntil = change.keepUntil
  return after
}
