/** Hides the values that a JSON Schema marks as sensitive: `writeOnly`, or `format: password`. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { decodePointer } from '../../../core/json-pointer.ts'

const MARK = '[redacted]'
/** A recursive schema ends where the value ends. The limit is for schemas that refer to themselves at one place. */
const MAX_DEPTH = 100

/** The value itself if nothing in it is sensitive. */
export function withoutSensitive(schema: JsonObject, value: JsonValue): JsonValue {
  return hide(schema, value, schema, 0)
}

type Hide = (schema: JsonValue | undefined, value: JsonValue) => JsonValue

function hide(schema: JsonValue | undefined, value: JsonValue, root: JsonObject, depth: number): JsonValue {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return value
  if (schema.writeOnly === true || schema.format === 'password') return MARK
  const within: Hide = (below, part) => hide(below, part, root, depth + 1)
  let open = typeof schema.$ref === 'string' ? within(resolve(root, schema.$ref), value) : value
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = schema[name]
    // Whichever branch the value matches: a field that one of them marks is hidden.
    if (Array.isArray(branches)) for (const branch of branches) open = within(branch, open)
  }
  for (const name of ['if', 'then', 'else'] as const) open = within(schema[name], open)
  if (Array.isArray(open)) return hideItems(schema, open, within)
  return isJsonObject(open) ? hideMembers(schema, open, within) : open
}

function hideItems(schema: JsonObject, items: readonly JsonValue[], within: Hide): JsonValue {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const after = items.map((item, at) => within(first[at] ?? schema.items, item))
  return after.some((item, at) => item !== items[at]) ? after : (items as JsonValue)
}

function hideMembers(schema: JsonObject, value: JsonObject, within: Hide): JsonValue {
  const { properties, patternProperties, additionalProperties } = schema
  // A pattern may be slow on some keys, so it is not asked: its schema applies to every key without one of its own.
  const patterns = isJsonObject(patternProperties) ? Object.values(patternProperties) : []
  let changed = false
  const members = Object.entries(value).map(([key, member]): [string, JsonValue] => {
    const isOwn = isJsonObject(properties) && Object.hasOwn(properties, key)
    const schemas = isOwn ? [properties[key]] : [additionalProperties, ...patterns]
    const after = schemas.reduce<JsonValue>((open, below) => within(below, open), member)
    changed ||= after !== member
    return [key, after]
  })
  return changed ? Object.fromEntries(members) : value
}

/** Only inside the schema: a sensitive field behind another address is not known. */
function resolve(root: JsonObject, ref: string): JsonValue | undefined {
  if (!ref.startsWith('#')) return undefined
  let found: JsonValue | undefined = root
  for (const key of decodePointer(ref.slice(1))) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as JsonObject)[key]
  }
  return found
}
