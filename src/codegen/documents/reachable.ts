/** Leaves out the schemas that a document does not use, directly or through others. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** `prefix` is what references to schemas begin with, such as `#/components/schemas/`. */
export function reachableSchemas(
  document: JsonValue,
  schemas: Readonly<Record<string, JsonObject>>,
  prefix: string,
): Record<string, JsonObject> {
  const found = new Set<string>()
  const waiting: JsonValue[] = [document]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'string' && value.startsWith(prefix)) {
      const name = value.slice(prefix.length)
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
      if (!schema || found.has(name)) continue
      found.add(name)
      waiting.push(schema)
    } else if (Array.isArray(value) || isJsonObject(value)) {
      for (const member of Object.values(value)) waiting.push(member)
    }
  }
  return Object.fromEntries([...found].sort().map((name) => [name, schemas[name] as JsonObject]))
}
