/** Compare and set: the only way in which an accepted instance changes its state. */
import type { Database, Statement } from 'better-sqlite3'
import { applyChange } from '../../core/call/applied-change.ts'
import { encodeEnding } from '../../core/call/audit-ending.ts'
import { faultIn, type Instance } from '../../core/call/instance.ts'
import { isTerminal, STATES } from '../../core/call/state.ts'
import type { Advanced, Change } from '../../core/ports/store.ts'
import type { FreshInstances } from './fresh-instances.ts'
import type { Action } from './group-commit.ts'
import type { OpenCalls } from './open-calls.ts'
import { PAST_WITH_SENT } from './past.ts'
import type { RecordWrites } from './records.ts'
import type { Decode, InstanceRow } from './rows.ts'

export interface AdvanceParts {
  fresh: FreshInstances
  openCalls: OpenCalls
  records: RecordWrites
  decode: Decode
}

export function prepareAdvance(db: Database, { fresh, openCalls, records, decode }: AdvanceParts) {
  const updates = new Map<number, Statement>()
  const updateFor = (shape: number, change: Change): Statement => {
    const known = updates.get(shape)
    if (known) return known
    const update = db.prepare(updateOf(change))
    updates.set(shape, update)
    return update
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
    return row && decode(row)
  }

  function differing(id: string): Advanced {
    const instance = read(id)
    return { applied: false, recordsDiffer: true, ...(instance && { instance }) }
  }

  return {
    advance(change: Change): Action<Advanced> {
      const { shape, values } = encodeChange(change)
      const update = updateFor(shape, change)
      const { records: together } = change
      return (changed) => {
        if (together && !records.hold(together)) return differing(change.id)
        const applied = update.run(...values).changes === 1
        if (applied && together) records.apply(together)
        const before = fresh.take(change.id)
        const instance = applied && before ? applyChange(before, change) : read(change.id)
        if (applied && instance) {
          openCalls.advanced(change, instance)
          changed.push(instance)
        }
        return instance ? { applied, instance } : { applied }
      }
    },

    answer(id: string, answer: string, failures: number | undefined, now: number): Action<Advanced> {
      return (changed) => {
        fresh.drop(id)
        const row = answered.get(answer, now, id, failures ?? null)
        const instance = row ? decode(row) : read(id)
        if (row && instance) changed.push(instance)
        return { applied: row !== undefined, ...(instance && { instance }) }
      }
    },
  }
}

/**
 * The columns that a change may set. The statement names only columns that change, because naming an unchanged column
 * rewrites its indexes. So there is one statement for each combination of columns.
 */
const SET: readonly { column: string; set?: string; read(change: Change): string | number | undefined }[] = [
  { column: 'due_at', read: ({ dueAt }) => dueAt },
  { column: 'outcome', read: ({ outcome }) => outcome && JSON.stringify(outcome) },
  { column: 'settled', read: ({ settled }) => settled },
  { column: 'failures', read: ({ failures }) => failures },
  { column: 'expires_at', read: ({ expiresAt }) => expiresAt },
  { column: 'keep_until', read: ({ keepUntil }) => keepUntil },
  { column: 'ended_at', read: ({ endedAt }) => endedAt },
  { column: 'audit', read: ({ audit }) => audit && encodeEnding(audit) },
  { column: 'extras', read: ({ extras }) => extras && JSON.stringify(extras) },
  { column: 'waiting', read: ({ waiting }) => (waiting == null ? undefined : JSON.stringify(waiting)) },
  { column: 'fault_kind', read: ({ outcome }) => faultIn(outcome)?.kind },
  { column: 'fault_code', read: ({ outcome }) => faultIn(outcome)?.code },
  { column: 'past', set: PAST_WITH_SENT, read: ({ past }) => past && JSON.stringify(past) },
]

/** The columns whose values depend on whether a caller was told of the call. */
const TIMES = { expires_at: 'expiresAt', keep_until: 'keepUntil' } as const

function isTime(column: string): column is keyof typeof TIMES {
  return column in TIMES
}

/** `shape` identifies the statement: a bit for each column, each flag and each state before, and the state after. */
function encodeChange(change: Change): { shape: number; values: (string | number)[] } {
  const { id, to, from, attempt } = change
  const values: (string | number)[] = []
  let shape = STATES.indexOf(to)
  for (const state of STATES) shape = shape * 2 + (from.includes(state) ? 1 : 0)
  for (const { column, read } of SET) {
    const value = read(change)
    shape *= 2
    if (value === undefined) continue
    values.push(value)
    if (change.untold && isTime(column)) values.push(change.untold[TIMES[column]])
    shape++
  }
  shape = shape * 2 + (change.untold ? 1 : 0)
  shape = shape * 8 + (change.waiting === null ? 4 : 0) + (change.releaseKey ? 2 : 0) + (attempt === undefined ? 0 : 1)
  values.push(id)
  if (attempt !== undefined) values.push(attempt)
  return { shape, values }
}

/** States are literals in the statement. There are only five, and a bound value takes longer. */
function updateOf(change: Change): string {
  const { to, from, waiting, releaseKey, attempt, dueAt } = change
  const set = [`state = '${to}'`, `ended = ${isTerminal(to) ? 1 : 0}`, 'revision = revision + 1']
  for (const { column, read, set: value = '?' } of SET) {
    if (read(change) === undefined) continue
    set.push(`${column} = ${change.untold && isTime(column) ? 'CASE told WHEN 1 THEN ? ELSE ? END' : value}`)
  }
  // The attempt is over, and the next one has a start of its own.
  if (change.settled !== undefined) set.push('begun_at = NULL')
  if (dueAt === undefined) set.push('due_at = NULL')
  if (isTerminal(to)) set.push('room = NULL')
  if (waiting === null) set.push('waiting = NULL', 'answer = NULL')
  if (releaseKey) set.push('idempotency_key = NULL')
  const fence = attempt === undefined ? '' : ' AND attempt = ?'
  // OR instead of IN: for a list of three, SQLite builds a table each time, which took a tenth of a durable call.
  const before = from.map((state) => `state = '${state}'`).join(' OR ')
  return `UPDATE instances SET ${set.join(', ')} WHERE id = ? AND (${before})${fence}`
}
