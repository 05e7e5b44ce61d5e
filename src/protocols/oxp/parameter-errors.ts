/**
 * Lists the problems of each parameter. Schema libraries use different texts. The texts for a missing parameter and for
 * a wrong type come from the published schema, so that they are the same for all libraries.
 */
import type { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** Key of problems with the input as a whole. */
const WHOLE = 'input'

export function parameterErrors(fault: Fault, input: JsonObject, schema: JsonObject): Record<string, string> {
  const issues = fault.details?.issues
  const found = new Map<string, Set<string>>()
  for (const issue of Array.isArray(issues) ? issues : []) {
    if (!isJsonObject(issue) || typeof issue.path !== 'string') continue
    const keys = issue.path.split('/').slice(1).map(unescapeSegment)
    const name = keys.join('.') || WHOLE
    const messages = found.get(name) ?? new Set()
    found.set(name, messages.add(wording(keys, input, schema) ?? sentence(String(issue.message))))
  }
  return Object.fromEntries([...found].map(([name, messages]) => [name, [...messages].join('; ')]))
}

function wording(keys: readonly string[], input: JsonObject, schema: JsonObject): string | undefined {
  let value: JsonValue | undefined = input
  let place: JsonValue | undefined = schema
  for (const key of keys) {
    place = isJsonObject(place) ? schemaOf(place, key, Array.isArray(value)) : undefined
    const held: boolean = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    value = held ? (value as JsonObject)[key] : undefined
  }
  if (value === undefined) return 'Is required'
  const types = isJsonObject(place) ? typesOf(place) : []
  if (types.length === 0 || types.some((type) => isOf(type, value as JsonValue))) return undefined
  return `Must be ${types.map((type) => NOUNS[type] ?? type).join(' or ')}`
}

function schemaOf(schema: JsonObject, key: string, inArray: boolean): JsonValue | undefined {
  if (inArray) {
    const { prefixItems, items } = schema
    return (Array.isArray(prefixItems) ? prefixItems[Number(key)] : undefined) ?? items
  }
  const { properties, additionalProperties } = schema
  return isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
}

/** Empty if an alternative does not declare its type. */
function typesOf({ type, anyOf, oneOf }: JsonObject): string[] {
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.filter((each) => typeof each === 'string')
  const alternatives = anyOf ?? oneOf
  if (!Array.isArray(alternatives)) return []
  const each = alternatives.map((one) => (isJsonObject(one) ? typesOf(one) : []))
  return each.some((types) => types.length === 0) ? [] : [...new Set(each.flat())]
}

const NOUNS: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

function isOf(type: string, value: JsonValue): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'object':
      return isJsonObject(value)
    default:
      return typeof value === type
  }
}

function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1)
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}
