/** The filter of a list as conditions of a statement. The tables are `instances` and `owners`. */
import { type CallFilter, keysLike, needleOf, SEARCHED_CHARACTERS } from '../../../core/ports/call-list.ts'

export interface Conditions {
  sql: readonly string[]
  values: readonly (string | number)[]
}

/** The function that looks for a text. See `addTextSearch`. */
export const CONTAINS = 'contains_text'

const STARTS = "attempt - coalesce(extras ->> 'unbegun', 0)"
const HELD = `(ended = 0 AND extras ->> 'held' IS NOT NULL AND ${STARTS} = 0)`

export function conditionsOf(tenant: string, filter: CallFilter, now: number): Conditions {
  const sql: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, ...given: (string | number)[]) => {
    sql.push(condition)
    values.push(...given)
  }
  add('owners.tenant = ?', tenant)
  // A row past its retention is removed soon.
  add('(ended = 0 OR keep_until > ?)', now)
  const { states, held, operation, owner, code, kinds, sessionId, parent, replayOf, idempotencyKey } = filter
  if (states) add(`state IN (${placesFor(states)})`, ...states)
  if (held !== undefined) add(held ? HELD : `coalesce(NOT ${HELD}, 1)`)
  if (operation !== undefined) {
    const keys = keysLike(operation)
    if ('exact' in keys) add('operation = ?', keys.exact)
    else add('operation >= ? AND operation < ?', keys.prefix, `${keys.prefix}\u{10ffff}`)
  }
  if (owner !== undefined) add('owners.owner = ?', owner)
  if (code !== undefined) add('fault_code = ?', code)
  if (kinds) add(`fault_kind IN (${placesFor(kinds)})`, ...kinds)
  if (sessionId !== undefined) add('session_id = ?', sessionId)
  if (parent !== undefined) add('called_by = ?', parent)
  if (replayOf !== undefined) add('replay_of = ?', replayOf)
  if (idempotencyKey !== undefined) add('idempotency_key = ?', idempotencyKey)
  if (filter.minStarts !== undefined) add(`${STARTS} >= ?`, filter.minStarts)
  if (filter.minMs !== undefined) add('coalesce(ended_at, ?) - created_at >= ?', now, filter.minMs)
  // Last, because it is the most expensive one.
  if (filter.text !== undefined)
    add(`${CONTAINS}(${searched('args')}, ${searched('outcome')}, ?) = 1`, needleOf(filter.text))
  return { sql, values }
}

function placesFor(list: readonly unknown[]): string {
  return list.map(() => '?').join(', ')
}

function searched(column: string): string {
  return `substr(${column}, 1, ${SEARCHED_CHARACTERS})`
}

export function containsText(args: unknown, outcome: unknown, needle: unknown): number {
  const has = (text: unknown) => typeof text === 'string' && text.toLowerCase().includes(needle as string)
  return has(args) || has(outcome) ? 1 : 0
}
