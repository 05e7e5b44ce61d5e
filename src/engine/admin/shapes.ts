/** JSON Schemas that several administrative operations share. */
import type { JsonObject } from '../../core/json.ts'

/** The most entries of one page, and the most ids of one request. */
export const MAX_PAGE = 200

export const TEXT = { type: 'string', minLength: 1, maxLength: 500 } satisfies JsonObject
export const ID = { type: 'string', minLength: 1, maxLength: 200 } satisfies JsonObject
export const LIMIT = { type: 'integer', minimum: 1, maximum: MAX_PAGE } satisfies JsonObject
export const TIME = { type: 'string', format: 'date-time', maxLength: 40 } satisfies JsonObject
export const COUNT = { type: 'integer', minimum: 0 } satisfies JsonObject
export const NOTHING = { type: 'object', additionalProperties: false } satisfies JsonObject

/** An object with these members and no others. */
export function record(properties: Record<string, JsonObject>, required: readonly string[] = []): JsonObject {
  return { type: 'object', additionalProperties: false, required: [...required], properties }
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
