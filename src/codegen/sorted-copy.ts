/** Copies JSON with sorted keys, so that the order of a document does not matter. */
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'

/** `undefined` if the value is nested deeper than `maxDepth`. */
export function sortedCopy(value: JsonObject, maxDepth: number): JsonObject | undefined {
  return isDeeper(value, maxDepth) ? undefined : (copyOf(value) as JsonObject)
}

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}

function copyOf(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isJsonObject(value)) return value
  // Makes a property of its own of a key `__proto__`, unlike an assignment.
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, copyOf(value[key] as JsonValue)]),
  )
}
