/**
 * The TypeScript type of a JSON Schema. Keywords without a meaning for types, such as `pattern`, are ignored, so that the
 * type allows at least what the schema allows. A `$ref` of the schema is the name of a type: see `flatten`.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { intersection, union } from './combine.ts'
import { listType } from './list-type.ts'
import { objectType } from './object-type.ts'
import { literalText } from './text.ts'

/** Longer lists of values would slow the compiler down, and people do not read them. */
const MOST_VALUES = 1_000

export function typeOf(schema: JsonValue | undefined, indent = ''): string {
  if (schema === false) return 'never'
  if (!isJsonObject(schema)) return 'unknown'
  if (isAnything(schema.not)) return 'never'
  return intersection([
    ...(typeof schema.$ref === 'string' ? [schema.$ref] : []),
    ownType(schema, indent),
    ...schemasIn(schema.allOf).map((part) => typeOf(part, indent)),
    ...['anyOf', 'oneOf'].flatMap((keyword) => {
      const parts = schemasIn(schema[keyword])
      return parts.length === 0 ? [] : [union(parts.map((part) => typeOf(part, indent)))]
    }),
    // Without one of the two, the other says nothing about the type.
    ...(schema.if !== undefined && schema.then !== undefined && schema.else !== undefined
      ? [union([typeOf(schema.then, indent), typeOf(schema.else, indent)])]
      : []),
  ])
}

/** The type that a schema states without the schemas that it combines. */
function ownType(schema: JsonObject, indent: string): string {
  if (schema.const !== undefined) return literalText(schema.const)
  const values = schema.enum
  if (Array.isArray(values) && values.length > 0) {
    return union(values.length <= MOST_VALUES ? values.map(literalText) : values.map(kindOf))
  }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? impliedType(schema)]
  return union(types.map((type) => typeNamed(type, schema, indent)))
}

function typeNamed(type: JsonValue | undefined, schema: JsonObject, indent: string): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type
    case 'integer':
      return 'number'
    case 'array':
      return listType(schema, (held) => typeOf(held, indent))
    case 'object':
      return objectType(schema, typeOf, indent)
    default:
      return 'unknown'
  }
}

/** Many schemas leave `type` out where the other keywords make it clear. */
function impliedType(schema: JsonObject): string | undefined {
  const has = (...keywords: string[]) => keywords.some((keyword) => schema[keyword] !== undefined)
  if (has('properties', 'patternProperties', 'additionalProperties', 'required', 'propertyNames')) return 'object'
  return has('items', 'prefixItems') ? 'array' : undefined
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'unknown' : typeof value
}

function isAnything(schema: JsonValue | undefined): boolean {
  return schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0)
}

function schemasIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
