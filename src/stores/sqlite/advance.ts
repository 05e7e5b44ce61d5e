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
  /** By what is set: naming a column that does not change would still rewrite its indexes, and takes its time. */
  const updateOf = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known) return known
    const statement = db.prepare(sql)
    statements.set(sql, statement)
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
      const { sql, values } = encodeChange(change)
      const update = updateOf(sql)
      return (changed) => {
        const applied = update.run(...values).changes === 1
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

/** States stand in the statement as they are: there are five of them, and what is bound takes longer. */
function encodeChange(change: Change): { sql: string; values: (string | number)[] } {
  const { to, from, dueAt, outcome, settled, failures, expiresAt, keepUntil, endedAt, extras, waiting, attempt } =
    change
  const values: (string | number)[] = []
  let sql = `UPDATE instances SET state = '${to}', ended = ${isTerminal(to) ? 1 : 0}, revision = revision + 1`
  const set = (column: string, value: string | number) => {
    sql += `, ${column} = ?`
    values.push(value)
  }
  if (dueAt === undefined) sql += ', due_at = NULL'
  else set('due_at', dueAt)
  if (outcome) set('outcome', JSON.stringify(outcome))
  if (settled !== undefined) set('settled', settled)
  if (failures !== undefined) set('failures', failures)
  if (expiresAt !== undefined) set('expires_at', expiresAt)
  if (keepUntil !== undefined) set('keep_until', keepUntil)
  if (endedAt !== undefined) set('ended_at', endedAt)
  if (extras) set('extras', JSON.stringify(extras))
  if (waiting === null) sql += ', waiting = NULL, answer = NULL'
  else if (waiting !== undefined) set('waiting', JSON.stringify(waiting))
  if (change.releaseKey) sql += ', idempotency_key = NULL'
  values.push(change.id)
  sql += ` WHERE id = ? AND state IN ('${from.join("', '")}')`
  if (attempt === undefined) return { sql, values }
  values.push(attempt)
  return { sql: `${sql} AND attempt = ?`, values }
}
