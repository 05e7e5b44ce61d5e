/**
 * Generates arguments from a JSON Schema: valid ones for a first call, and invalid ones that a server must refuse. The
 * same schema always gives the same values. Values in the schema (`examples`, `default`, `enum`) come first.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { sampleText } from './sample-text.ts'

export function sampleArguments(schema: JsonValue | undefined): JsonObject {
  const value = new Sampler(schema).sample(schema)
  return isJsonObject(value) ? value : {}
}

export interface InvalidArguments {
  args: JsonObject
  /** Name of the missing or invalid argument. */
  at: string
}

/** At most one missing argument and one of the wrong type. Both break the schema at one known place. */
export function invalidArguments(schema: JsonValue | undefined, valid: JsonObject): InvalidArguments[] {
  if (!isJsonObject(schema)) return []
  const root = new Sampler(schema)
  const { properties, required } = root.resolve(schema)
  const known = isJsonObject(properties) ? properties : {}
  const found: InvalidArguments[] = []
  const wrong = Object.entries(known)
    .map(([name, property]) => [name, wrongValue(root.resolve(property))] as const)
    .find(([, value]) => value !== undefined)
  if (wrong?.[1] !== undefined) found.push({ args: { ...valid, [wrong[0]]: wrong[1] }, at: wrong[0] })
  const [missing] = Array.isArray(required) ? required : []
  if (typeof missing === 'string') {
    const { [missing]: _, ...args } = valid
    found.push({ args, at: missing })
  }
  return found
}

/** Returns a value of a type that the schema does not allow and no server would convert. */
function wrongValue({ type, enum: values, const: only }: JsonObject): JsonValue | undefined {
  if (values !== undefined || only !== undefined) return { not: 'one of them' }
  if (type === 'string') return { not: 'a text' }
  if (type === 'number' || type === 'integer') return 'not a number'
  if (type === 'boolean') return 'neither'
  return type === 'array' || type === 'object' ? 'a text' : undefined
}

/** Deep enough for any arguments. It also stops recursive schemas. */
const DEPTH = 12

class Sampler {
  readonly #root: JsonValue | undefined
  #numbers = 0

  constructor(root: JsonValue | undefined) {
    this.#root = root
  }

  sample(schema: JsonValue | undefined, depth = 0): JsonValue {
    if (depth > DEPTH) return null
    const own = this.resolve(schema)
    if (own.const !== undefined) return own.const
    if (Array.isArray(own.examples) && own.examples[0] !== undefined) return own.examples[0]
    if (own.default !== undefined) return own.default
    if (Array.isArray(own.enum) && own.enum[0] !== undefined) return own.enum[0]
    for (const list of [own.anyOf, own.oneOf]) {
      if (!Array.isArray(list)) continue
      const chosen = list.find((each) => !isJsonObject(each) || each.type !== 'null')
      const { anyOf: _, oneOf: __, ...rest } = own
      if (chosen !== undefined) return this.sample(isJsonObject(chosen) ? { ...rest, ...chosen } : chosen, depth + 1)
    }
    const type = Array.isArray(own.type) ? own.type.find((each) => each !== 'null') : own.type
    return this.#ofType(type ?? guessType(own), own, depth)
  }

  /** Follows references within the document, and merges `allOf`. */
  resolve(schema: JsonValue | undefined, depth = 0): JsonObject {
    if (!isJsonObject(schema) || depth > DEPTH) return {}
    const { $ref, allOf, ...own } = schema
    const pieces = Array.isArray(allOf) ? allOf : []
    if (typeof $ref === 'string') pieces.unshift(this.#referred($ref))
    return pieces.map((piece) => this.resolve(piece, depth + 1)).reduce(merge, own)
  }

  #referred($ref: string): JsonValue {
    const steps = $ref.startsWith('#') ? $ref.slice(1).split('/').slice(1) : ['elsewhere']
    let value: JsonValue | undefined = this.#root
    for (const step of steps) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      value = isJsonObject(value) ? value[name] : undefined
    }
    return value ?? {}
  }

  #ofType(type: JsonValue, schema: JsonObject, depth: number): JsonValue {
    switch (type) {
      case 'number':
      case 'integer':
        return this.#number(schema)
      case 'boolean':
        return true
      case 'array':
        return this.#list(schema, depth)
      case 'object':
        return this.#object(schema, depth)
      default:
        return type === 'null' ? null : sampleText(schema)
    }
  }

  /** Numbers count up, so that two of them differ. */
  #number({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf, type }: JsonObject): number {
    const step = typeof multipleOf === 'number' ? multipleOf : 1
    let value = Math.max(++this.#numbers * step, typeof minimum === 'number' ? minimum : Number.NEGATIVE_INFINITY)
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) value = exclusiveMinimum + step
    if (typeof multipleOf === 'number' || type === 'integer') value = Math.ceil(value / step) * step
    if (typeof maximum === 'number' && value > maximum) return maximum
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) {
      const least = typeof minimum === 'number' ? minimum : exclusiveMaximum - 2 * step
      return type === 'integer' ? exclusiveMaximum - step : (least + exclusiveMaximum) / 2
    }
    return value
  }

  #list({ minItems, items, prefixItems }: JsonObject, depth: number): JsonValue[] {
    const first = Array.isArray(prefixItems) ? prefixItems : []
    const count = typeof minItems === 'number' ? Math.min(minItems, 100) : 0
    return Array.from({ length: count }, (_, at) => this.sample(first[at] ?? items, depth + 1))
  }

  #object({ properties, required, minProperties }: JsonObject, depth: number): JsonObject {
    const known = isJsonObject(properties) ? properties : {}
    const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [])
    for (const name of Object.keys(known)) {
      if (names.size < Number(minProperties ?? 0)) names.add(name)
    }
    return Object.fromEntries([...names].map((name) => [name, this.sample(known[name], depth + 1)]))
  }
}

function guessType({ properties, required, items }: JsonObject): JsonValue {
  if (properties !== undefined || required !== undefined) return 'object'
  return items === undefined ? 'string' : 'array'
}

function merge(one: JsonObject, other: JsonObject): JsonObject {
  const list = (value: JsonValue | undefined) => (Array.isArray(value) ? value : [])
  const members = (value: JsonValue | undefined) => (isJsonObject(value) ? value : {})
  return {
    ...other,
    ...one,
    ...((one.required ?? other.required) !== undefined && {
      required: [...list(one.required), ...list(other.required)],
    }),
    ...((one.properties ?? other.properties) !== undefined && {
      properties: { ...members(other.properties), ...members(one.properties) },
    }),
  }
}
