/** The TypeScript type of an object: its properties, with their comments, and an index signature for further keys. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { union } from './combine.ts'
import { commentText, keyText } from './text.ts'

type TypeOf = (schema: JsonValue | undefined, indent: string) => string

interface Property {
  key: string
  schema: JsonValue | undefined
  type: string
  isRequired: boolean
}

export function objectType(schema: JsonObject, typeOf: TypeOf, indent: string): string {
  const inner = `${indent}  `
  const properties = propertiesOf(schema, typeOf, inner)
  const further = furtherType(schema, properties, (held) => typeOf(held, inner))
  if (properties.length === 0) {
    if (isOnlyCombined(schema)) return 'unknown'
    return further === undefined ? 'Record<string, never>' : `{ [key: string]: ${further} }`
  }
  const lines = properties.map(
    ({ key, schema: held, type, isRequired }) =>
      `${commentOf(held, inner)}${inner}${keyText(key)}${isRequired ? '' : '?'}: ${type}\n`,
  )
  const index = further === undefined || !statesFurther(schema) ? '' : `${inner}[key: string]: ${further}\n`
  return `{\n${lines.join('')}${index}${indent}}`
}

/** An object that says nothing itself: the schemas that it combines say what it is. */
function isOnlyCombined(schema: JsonObject): boolean {
  const combines = ['$ref', 'allOf', 'anyOf', 'oneOf', 'then'].some((keyword) => schema[keyword] !== undefined)
  return combines && !isJsonObject(schema.additionalProperties) && schema.patternProperties === undefined
}

function propertiesOf(schema: JsonObject, typeOf: TypeOf, indent: string): Property[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const required = new Set(
    (Array.isArray(schema.required) ? schema.required : []).filter((key) => typeof key === 'string'),
  )
  // A list of allowed names is a list of properties.
  const keys = new Set([...Object.keys(properties), ...required, ...(allowedNames(schema) ?? [])])
  return [...keys].map((key) => {
    const held = Object.hasOwn(properties, key) ? properties[key] : (schema.additionalProperties ?? true)
    return { key, schema: held, type: typeOf(held, indent), isRequired: required.has(key) }
  })
}

function allowedNames(schema: JsonObject): string[] | undefined {
  const { propertyNames } = schema
  if (!isJsonObject(propertyNames)) return undefined
  const names = propertyNames.enum ?? (propertyNames.const === undefined ? undefined : [propertyNames.const])
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : undefined
}

/** The type of the values of further keys. `undefined` if there can be none. */
function furtherType(
  schema: JsonObject,
  properties: readonly Property[],
  typeOf: (held: JsonValue) => string,
): string | undefined {
  const patterns = isJsonObject(schema.patternProperties) ? Object.values(schema.patternProperties) : []
  const others = schema.additionalProperties ?? schema.unevaluatedProperties ?? true
  const closed = others === false || allowedNames(schema) !== undefined
  if (closed && patterns.length === 0) return undefined
  const types = [...patterns, ...(closed ? [] : [others])].map(typeOf)
  // The compiler requires that the type of every property fits the index signature.
  const known = properties.map(({ type }) => type)
  return union([...types, ...known, ...(properties.some(({ isRequired }) => !isRequired) ? ['undefined'] : [])])
}

/**
 * An object without a rule about further keys allows them. The type does not, so that the compiler finds a misspelt key.
 */
function statesFurther({ additionalProperties, unevaluatedProperties, patternProperties }: JsonObject): boolean {
  return (additionalProperties ?? unevaluatedProperties ?? patternProperties) !== undefined
}

function commentOf(schema: JsonValue | undefined, indent: string): string {
  if (!isJsonObject(schema)) return ''
  const { description, title, deprecated } = schema
  const text = description ?? title
  return commentText(
    [
      ...(typeof text === 'string' ? [text] : []),
      ...(schema.default === undefined ? [] : [`@default ${JSON.stringify(schema.default)}`]),
      ...(deprecated === true ? ['@deprecated'] : []),
    ],
    indent,
  )
}
