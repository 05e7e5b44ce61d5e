/**
 * Converts argument schemas to a form that models accept. Providers require an object at the top level and refuse
 * keywords that combine schemas there. Those are merged into one object that allows slightly more. The server still
 * enforces the original schema.
 */
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'

export interface ObjectSchema {
  type: 'object'
  properties?: JsonObject
  required?: string[]
  [keyword: string]: unknown
}

export function objectSchema(schema: JsonObject): ObjectSchema {
  const { $schema: _dialect, $ref: _ref, ...own } = schema
  const { anyOf, oneOf, allOf, not: _not, enum: _enum, const: _const, ...plain } = own
  const { properties, required } = fold(schema, isJsonObject(schema.$defs) ? schema.$defs : {}, 0)
  return {
    ...plain,
    type: 'object',
    // Some providers refuse an object without `properties`.
    properties: Object.fromEntries(properties),
    ...(required.size > 0 && { required: [...required] }),
  }
}

interface Folded {
  properties: Map<string, JsonValue>
  required: Set<string>
}

/** Limits schemas that refer to themselves at the top level. */
const MAX_DEPTH = 8

function fold(schema: JsonObject, definitions: JsonObject, depth: number): Folded {
  const { properties, required } = schema
  const folded: Folded = {
    properties: new Map(isJsonObject(properties) ? Object.entries(properties) : []),
    required: new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []),
  }
  if (depth >= MAX_DEPTH) return folded
  const below = (value: JsonValue | undefined) =>
    Array.isArray(value) ? value.filter(isJsonObject).map((each) => fold(each, definitions, depth + 1)) : []
  const referred = referredBy(schema, definitions)
  for (const part of [...below(schema.allOf), ...(referred ? below([referred]) : [])]) {
    addProperties(folded, part)
    for (const name of part.required) folded.required.add(name)
  }
  for (const choices of [below(schema.anyOf), below(schema.oneOf)]) {
    for (const choice of choices) addProperties(folded, choice)
    const [first, ...others] = choices
    for (const name of first?.required ?? []) {
      if (others.every((other) => other.required.has(name))) folded.required.add(name)
    }
  }
  return folded
}

function referredBy({ $ref }: JsonObject, definitions: JsonObject): JsonObject | undefined {
  const name = typeof $ref === 'string' ? /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1] : undefined
  const found = name === undefined ? undefined : definitions[name]
  return isJsonObject(found) ? found : undefined
}

/** If two schemas define a property differently, either definition is allowed. */
function addProperties(into: Folded, { properties }: Folded): void {
  for (const [name, schema] of properties) {
    const known = into.properties.get(name)
    const choices = known === undefined ? [] : choicesIn(known)
    const isKnown = choices.some((choice) => canonicalJson(choice) === canonicalJson(schema))
    if (!isKnown) into.properties.set(name, known === undefined ? schema : { anyOf: [...choices, schema] })
  }
}

function choicesIn(schema: JsonValue): JsonValue[] {
  const isChoice = isJsonObject(schema) && Array.isArray(schema.anyOf) && Object.keys(schema).length === 1
  return isChoice ? (schema.anyOf as JsonValue[]) : [schema]
}
