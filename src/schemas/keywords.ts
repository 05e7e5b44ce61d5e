/** The keywords of JSON Schema 2020-12, the shape of each one's value, and the retired keywords. */

export type Shape =
  | 'schema'
  | 'schema list'
  | 'schema map'
  | 'schema map by pattern'
  | 'text'
  | 'reference'
  | 'pattern'
  | 'number'
  | 'positive number'
  | 'count'
  | 'boolean'
  | 'list'
  | 'choice'
  | 'name list'
  | 'name list map'
  | 'type'
  | 'anything'

const BY_SHAPE: Record<Shape, string> = {
  schema:
    'items contains additionalProperties propertyNames if then else not unevaluatedItems unevaluatedProperties contentSchema',
  'schema list': 'prefixItems allOf anyOf oneOf',
  'schema map': '$defs definitions properties dependentSchemas',
  'schema map by pattern': 'patternProperties',
  text: '$id $schema $anchor $dynamicAnchor $comment title description format contentEncoding contentMediaType',
  reference: '$ref $dynamicRef',
  pattern: 'pattern',
  number: 'maximum exclusiveMaximum minimum exclusiveMinimum',
  'positive number': 'multipleOf',
  count: 'maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties',
  boolean: 'uniqueItems deprecated readOnly writeOnly',
  list: 'examples',
  choice: 'enum',
  'name list': 'required',
  'name list map': 'dependentRequired',
  type: 'type',
  anything: 'const default',
}

export const KEYWORDS: ReadonlyMap<string, Shape> = new Map(
  Object.entries(BY_SHAPE).flatMap(([shape, names]) => names.split(' ').map((name) => [name, shape as Shape] as const)),
)

/** 2020-12 ignores these keywords, so a schema that uses them would check less than it says. `$async` is ajv's own. */
export const RETIRED: ReadonlyMap<string, string> = new Map([
  ['dependencies', 'is dependentRequired and dependentSchemas since 2019-09'],
  ['additionalItems', 'is items beside prefixItems since 2020-12'],
  ['$recursiveRef', 'is $dynamicRef since 2020-12'],
  ['$async', 'is not JSON Schema; remove it'],
])

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']

/** Returns the problem with a keyword's value. The caller checks the schemas inside it. */
export function problemWith(shape: Shape, value: unknown): string | undefined {
  switch (shape) {
    case 'schema':
    case 'anything':
      return undefined
    case 'schema list':
      return Array.isArray(value) && value.length > 0 ? undefined : 'must be a list of at least one schema'
    case 'schema map':
      return isMap(value) ? undefined : 'must be an object of schemas'
    case 'schema map by pattern':
      if (!isMap(value)) return 'must be an object of schemas'
      return Object.keys(value).map(problemWithPattern).find(Boolean)
    case 'text':
    case 'reference':
      return typeof value === 'string' ? undefined : 'must be a string'
    case 'pattern':
      return typeof value === 'string' ? problemWithPattern(value) : 'must be a regular expression'
    case 'number':
      return isNumber(value) ? undefined : 'must be a number'
    case 'positive number':
      return isNumber(value) && value > 0 ? undefined : 'must be a number above 0'
    case 'count':
      return isNumber(value) && Number.isInteger(value) && value >= 0 ? undefined : 'must be a whole number, 0 or more'
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'list':
      return Array.isArray(value) ? undefined : 'must be a list'
    case 'choice':
      return Array.isArray(value) && value.length > 0 ? undefined : 'must be a list of at least one value'
    case 'name list':
      return isNameList(value) ? undefined : 'must be a list of different names'
    case 'name list map':
      return isMap(value) && Object.values(value).every(isNameList) ? undefined : 'must be an object of name lists'
    case 'type':
      return problemWithType(value)
  }
}

function problemWithType(value: unknown): string | undefined {
  const names = Array.isArray(value) ? value : [value]
  const unknown = names.find((name) => !TYPES.includes(name))
  if (unknown !== undefined) return `has the unknown type ${JSON.stringify(unknown)}; the types are ${TYPES.join(', ')}`
  return names.length > 0 && new Set(names).size === names.length ? undefined : 'must name one or more different types'
}

function problemWithPattern(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u')
    return undefined
  } catch (thrown) {
    return `is not a regular expression (${thrown instanceof Error ? thrown.message : String(thrown)})`
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isNameList(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string') && new Set(value).size === value.length
}
