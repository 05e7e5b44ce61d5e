/** Compare and set: the one way an instance changes state once it is taken in. */
import type { Database, Statement } from 'better-sqlite3'
import { applyChange } from '../../core/applied-change.ts'
import type { Instance } from '../../core/model.ts'
import type { Advanced, AuditEntry, Change } from '../../core/ports.ts'
import { isTerminal } from '../../core/state.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import { decodeInstance, type InstanceRow } from './rows.ts'

export function prepareAdvance(db: Database, fresh: FreshInstances, audit: (entry: AuditEntry) => void) {
  const statements = new Map<string, Statement>()
  // What few changes set is in statements of their own: naming the key's column would rewrite its index at every end.
  const advanceSetting = (more: string): Statement => {
    const statement =
      statements.get(more) ??
      db.prepare(
        `UPDATE instances SET state = ?, ended = ?, revision = revision + 1, outcome = coalesce(?, outcome),
           settled = coalesce(?, settled), failures = coalesce(?, failures), due_at = ?,
           expires_at = coalesce(?, expires_at), keep_until = coalesce(?, keep_until),
           ended_at = coalesce(?, ended_at) ${more}
         WHERE id = ? AND instr(?, state) AND attempt = coalesce(?, attempt)`,
      )
    statements.set(more, statement)
    return statement
  }
  const byId = db.prepare<[string], InstanceRow>('SELECT * FROM instances WHERE id = ?')
  const answered = db.prepare<[string, number, string, number | null], InstanceRow>(
    `UPDATE instances SET answer = ?, revision = revision + 1,
       due_at = CASE WHEN attempt = settled THEN ? ELSE due_at END
     WHERE id = ? AND failures = coalesce(?, failures) AND ended = 0 AND waiting IS NOT NULL AND answer IS NULL
     RETURNING *`,
  )

  function read(id: string): Instance | undefined {
    const row = byId.get(id)
    return row && decodeInstance(row)
  }

  return {
    advance(change: Change): Action<Advanced> {
      const { more, values: rare } = rareSettings(change)
      const update = advanceSetting(more)
      const values = [
        change.to,
        isTerminal(change.to) ? 1 : 0,
        change.outcome ? JSON.stringify(change.outcome) : null,
        change.settled ?? null,
        change.failures ?? null,
        change.dueAt ?? null,
        change.expiresAt ?? null,
        change.keepUntil ?? null,
        change.endedAt ?? null,
        ...rare,
        change.id,
        // No state's name is part of another's, so that one text can stand for the list.
        change.from.join(),
        change.attempt ?? null,
      ]
      return (changed) => {
        const applied = update.run(values).changes === 1
        if (applied && change.audit) audit(change.audit)
        const before = fresh.take(change.id)
        const instance = applied && before ? applyChange(before, change) : read(change.id)
        if (applied && instance) changed.push(instance)
        return instance ? { applied, instance } : { applied }
      }
    },

    answer(id: string, answer: string, failures: number | undefined, now: number): Action<Advanced> {
      return (changed) => {
        fresh.drop(id)
        const row = answered.get(answer, now, id, failures ?? null)
        const instance = row ? decodeInstance(row) : read(id)
        if (row && instance) changed.push(instance)
        return { applied: row !== undefined, ...(instance && { instance }) }
      }
    },
  }
}

const NOTHING_RARE = { more: '', values: [] }

function rareSettings({ releaseKey, extras, waiting }: Change): { more: string; values: readonly (string | null)[] } {
  if (!releaseKey && !extras && waiting === undefined) return NOTHING_RARE
  const values: (string | null)[] = []
  let more = releaseKey ? ', idempotency_key = NULL' : ''
  if (extras) {
    more += ', extras = ?'
    values.push(JSON.stringify(extras))
  }
  if (waiting !== undefined) {
    more += waiting === null ? ', waiting = ?, answer = NULL' : ', waiting = ?'
    values.push(waiting === null ? null : JSON.stringify(waiting))
  }
  return { more, values }
}
