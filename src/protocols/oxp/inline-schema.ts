/**
 * Replaces each `$ref` in a JSON Schema with its target, because tool definitions must not contain references. A
 * recursive or very large schema accepts any value at that place. Calls are validated against the original schema.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

const ONE = new Set([
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
])
const LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const MAP = new Set(['dependentSchemas', 'patternProperties', 'properties'])
/** Keywords that only serve references. */
const DROPPED = new Set([
  '$anchor',
  '$comment',
  '$defs',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$ref',
  '$schema',
  'definitions',
])
/** If both the target and the schema with the `$ref` have one of these, the value beside the `$ref` is used. */
const ANNOTATIONS = new Set(['default', 'deprecated', 'description', 'examples', 'readOnly', 'title', 'writeOnly'])
/** A schema that doubles its references at each level would exhaust the memory: 20 levels are a million schemas. */
const MAX_SCHEMAS = 5_000

export function inlineSchema(root: JsonObject): JsonObject {
  let left = MAX_SCHEMAS

  function inline(schema: JsonValue, within: readonly JsonValue[]): JsonValue {
    if (!isJsonObject(schema)) return schema
    if (--left < 0) return {}
    const own = Object.fromEntries(
      Object.entries(schema)
        .filter(([keyword]) => !DROPPED.has(keyword))
        .map(([keyword, value]) => [keyword, member(keyword, value, within)]),
    )
    if (schema.$ref === undefined && schema.$dynamicRef === undefined) return own
    const target = typeof schema.$ref === 'string' ? resolvePointer(root, schema.$ref) : undefined
    if (target === undefined || within.includes(target)) return own
    const referred = inline(target, [...within, target])
    return isJsonObject(referred) ? merge(referred, own) : referred
  }

  function member(keyword: string, value: JsonValue, within: readonly JsonValue[]): JsonValue {
    if (ONE.has(keyword)) return inline(value, within)
    if (LIST.has(keyword) && Array.isArray(value)) return value.map((each) => inline(each, within))
    if (MAP.has(keyword) && isJsonObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inline(each, within)]))
    }
    return value
  }

  return inline(root, [root]) as JsonObject
}

function merge(referred: JsonObject, beside: JsonObject): JsonObject {
  const clash = Object.keys(beside).some((keyword) => keyword in referred && !ANNOTATIONS.has(keyword))
  return clash ? { allOf: [referred, beside] } : { ...referred, ...beside }
}

/** Resolves JSON Pointers only. The validator resolves anchors and other documents; here they accept any value. */
function resolvePointer(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let at: JsonValue | undefined = root
  for (const segment of reference.slice(2).split('/')) {
    const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    const held: boolean = typeof at === 'object' && at !== null && Object.hasOwn(at, key)
    at = held ? (at as JsonObject)[key] : undefined
  }
  return at
}

function decode(segment: string): string {
  return /%(?![0-9a-f]{2})/i.test(segment) ? segment : decodeURIComponent(segment)
}
