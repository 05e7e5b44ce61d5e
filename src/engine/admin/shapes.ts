/** JSON Schemas that several administrative operations share. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'

/** The most entries of one page, and the most ids of one request. */
export const MAX_PAGE = 200

export const TEXT = { type: 'string', minLength: 1, maxLength: 500 } satisfies JsonObject
export const ID = { type: 'string', minLength: 1, maxLength: 200 } satisfies JsonObject
export const LIMIT = { type: 'integer', minimum: 1, maximum: MAX_PAGE } satisfies JsonObject
export const TIME = { type: 'string', format: 'date-time', maxLength: 40 } satisfies JsonObject
export const COUNT = { type: 'integer', minimum: 0 } satisfies JsonObject
/** The arguments of a call within those or the result of another one. The schema that hides fields in them is not here. */
export const OTHER_ARGS = { writeOnly: true } satisfies JsonObject
export const NOTHING = { type: 'object', additionalProperties: false } satisfies JsonObject

/** An object with these members and no others. */
export function record(properties: Record<string, JsonObject>, required: readonly string[] = []): JsonObject {
  return { type: 'object', additionalProperties: false, required: [...required], properties }
}

/** The value of a `TIME`. A leap second, which a JavaScript time cannot be, counts as the second before it. */
export function timeOf(text: string): number {
  const ms = Date.parse(text.toUpperCase().replace(/:60(?=[.Z+-])/, ':59'))
  if (!Number.isNaN(ms)) return ms
  throw new Fault('invalid-input', `"${text}" is no time. Use the form 2026-01-31T12:00:00Z.`)
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
