/** Leaves out the parts of a document that it does not use, directly or through others. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** `prefix` is what references to the parts begin with, such as `#/components/schemas/`. */
export function reachable(
  document: JsonValue,
  parts: Readonly<Record<string, JsonObject>>,
  prefix: string,
): Record<string, JsonObject> {
  const found = new Set<string>()
  const waiting: JsonValue[] = [document]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string' && value.startsWith(prefix)) {
      const name = value.slice(prefix.length)
      const part = Object.hasOwn(parts, name) ? parts[name] : undefined
      if (!part || found.has(name)) continue
      found.add(name)
      waiting.push(part)
    } else if (Array.isArray(value) || isJsonObject(value)) {
      for (const member of Object.values(value)) waiting.push(member)
    }
  }
  return Object.fromEntries([...found].sort().map((name) => [name, parts[name] as JsonObject]))
}
