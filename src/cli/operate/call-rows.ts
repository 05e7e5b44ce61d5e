/** Calls as rows of a table. */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { ageText, durationText } from '../terminal/duration.ts'
import { plainLine } from '../terminal/text.ts'

export const CALL_HEAD = ['ID', 'STATE', 'AGE', 'TOOK', 'TRIES', 'OPERATION', 'CODE', 'CALLER']

export function callRow(call: JsonObject, now: number): string[] {
  const { id, state, held, createdAt, durationMs, attempts, operation, code, owner } = call
  const took = typeof durationMs === 'number' ? durationText(durationMs) : '-'
  const cells = [id, held === true ? 'held' : state, ageText(createdAt, now), took, attempts, operation, code, owner]
  return cells.map(cellOf)
}

/** A dash stands for a value that a call does not have. */
export function cellOf(value: JsonValue | undefined): string {
  return value === undefined ? '-' : plainLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
