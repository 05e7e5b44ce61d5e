/** Where a JSON Schema holds other schemas. Names of properties and values such as `const` are not searched. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

const ONE = new Set(
  'items contains additionalProperties additionalItems propertyNames if then else not unevaluatedItems unevaluatedProperties contentSchema'.split(
    ' ',
  ),
)
const LIST = new Set(['items', 'prefixItems', 'allOf', 'anyOf', 'oneOf'])
const MAP = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Schemas that apply to the same value as the schema that holds them. */
const SAME_VALUE = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'])

export const DEFINITIONS: readonly string[] = ['$defs', 'definitions']

/** A copy of the schema in which `replace` has replaced the schemas that it holds. Other members are shared. */
export function mapSubschemas(
  schema: JsonObject,
  replace: (schema: JsonValue, at: readonly [keyword: string, key?: string], sameValue: boolean) => JsonValue,
): JsonObject {
  const members = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    const sameValue = SAME_VALUE.has(keyword)
    if (Array.isArray(value) && LIST.has(keyword)) {
      return [keyword, value.map((item, index) => replace(item, [keyword, String(index)], sameValue))]
    }
    if (isJsonObject(value) && (MAP.has(keyword) || DEFINITIONS.includes(keyword))) {
      const map = Object.entries(value).map(([key, item]) => [key, replace(item, [keyword, key], sameValue)])
      return [keyword, Object.fromEntries(map)]
    }
    return [keyword, ONE.has(keyword) ? replace(value, [keyword], sameValue) : value]
  })
  return Object.fromEntries(members)
}
