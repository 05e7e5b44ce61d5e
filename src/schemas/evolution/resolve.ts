/**
 * Resolves the references of a JSON Schema inside its own document, so that a comparison sees schemas instead of names.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { decodePointer } from '../../core/json-pointer.ts'

export type Resolve = (schema: JsonValue | undefined) => JsonObject

const ANYTHING: JsonObject = {}
const NOTHING: JsonObject = { not: {} }
const ANNOTATIONS = new Set(
  '$schema $id $defs definitions $comment title description examples default deprecated readOnly writeOnly'.split(' '),
)

/** The same schema always resolves to the same object, so that a comparison can detect cycles. */
export function createResolver(root: JsonObject): Resolve {
  const resolved = new Map<JsonObject, JsonObject>()

  const follow = (schema: JsonObject, seen: Set<JsonObject>): JsonObject => {
    const target = typeof schema.$ref === 'string' ? targetOf(root, schema.$ref) : undefined
    if (target === undefined || seen.has(schema)) return schema
    seen.add(schema)
    const { $ref: _name, ...beside } = schema
    const reached = isJsonObject(target) ? follow(target, seen) : fromBoolean(target)
    const limits = Object.keys(beside).some((keyword) => !ANNOTATIONS.has(keyword))
    return limits ? { allOf: [reached, beside] } : reached
  }

  return (schema) => {
    if (!isJsonObject(schema)) return fromBoolean(schema)
    const known = resolved.get(schema) ?? follow(schema, new Set())
    resolved.set(schema, known)
    return known
  }
}

/** `true`, and an absent keyword, allow anything. */
function fromBoolean(schema: JsonValue | undefined): JsonObject {
  return schema === false ? NOTHING : ANYTHING
}

/** `undefined` if the target is not in the document. The reference then stays as it is. */
function targetOf(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference === '#') return root
  if (reference.startsWith('#/')) {
    return decodePointer(reference.slice(1)).reduce<JsonValue | undefined>((at, key) => {
      const holder = Array.isArray(at) || isJsonObject(at) ? (at as JsonObject) : {}
      return Object.hasOwn(holder, key) ? holder[key] : undefined
    }, root)
  }
  return reference.startsWith('#') ? findAnchor(root, reference.slice(1)) : undefined
}

function findAnchor(value: JsonValue, anchor: string): JsonObject | undefined {
  if (isJsonObject(value) && (value.$anchor === anchor || value.$dynamicAnchor === anchor)) return value
  if (typeof value !== 'object' || value === null) return undefined
  for (const member of Object.values(value)) {
    const found = findAnchor(member, anchor)
    if (found) return found
  }
  return undefined
}
