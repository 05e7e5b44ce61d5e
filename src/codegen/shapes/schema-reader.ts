/**
 * Turns one flat JSON Schema into a shape. What a type cannot express, such as a range, is left to the server. A schema
 * that contradicts itself or needs more than types is `any`.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'
import type { FreeNames } from '../free-names.ts'
import { ANY, type Declaration, type Field, orNull, type Shape, unionOf } from './shape.ts'
import { pascalName } from './words.ts'

/** Deeper types become `any`. */
const MAX_DEPTH = 40
/** Longer enumerations are their base type. */
const MAX_LITERALS = 200

const SIMPLE: Readonly<Record<string, Shape>> = {
  string: { kind: 'string' },
  integer: { kind: 'integer' },
  number: { kind: 'number' },
  boolean: { kind: 'boolean' },
  null: { kind: 'null' },
}

export class SchemaReader {
  readonly #definitions: ReadonlyMap<string, JsonSchema>
  readonly #prefix: string
  readonly #names: FreeNames
  readonly #declarations: Declaration[]
  readonly #named = new Map<string, Shape>()
  #depth = 0

  constructor(
    definitions: ReadonlyMap<string, JsonSchema>,
    prefix: string,
    names: FreeNames,
    declarations: Declaration[],
  ) {
    this.#definitions = definitions
    this.#prefix = prefix
    this.#names = names
    this.#declarations = declarations
  }

  /** A schema that others refer to has a name, so that it can contain itself. */
  definition(name: string): Shape {
    const known = this.#named.get(name)
    if (known) return known
    const schema = this.#definitions.get(name)
    if (!schema) return ANY
    const typeName = this.#names.take(name === '' ? this.#prefix : pascalName(this.#prefix, name))
    const named: Shape = { kind: 'named', name: typeName }
    this.#named.set(name, named)
    const place = this.#declarations.length
    const fields = this.#fields(schema, typeName)
    const base = { name: typeName, ...describing(schema) }
    const declaration: Declaration = fields
      ? { kind: 'object', ...base, fields }
      : { kind: 'alias', ...base, shape: this.read(schema, `${typeName}Value`) }
    // Before the declarations of its members, which were found meanwhile.
    this.#declarations.splice(place, 0, declaration)
    return named
  }

  read(schema: JsonValue | undefined, typeName: string): Shape {
    if (!isJsonObject(schema) || this.#depth >= MAX_DEPTH) return ANY
    this.#depth++
    try {
      const shape = this.#readObject(schema, typeName)
      return schema.nullable === true ? orNull(shape) : shape
    } finally {
      this.#depth--
    }
  }

  #readObject(schema: JsonObject, typeName: string): Shape {
    const { $ref, enum: values, anyOf, oneOf, type } = schema
    if ('const' in schema) return literalsOf([schema.const as JsonValue])
    if (Array.isArray(values)) return literalsOf(values)
    const fields = this.#fields(schema, typeName)
    if (fields) return this.#declare(schema, typeName, fields)
    if (typeof $ref === 'string') return this.definition($ref)
    const options = Array.isArray(anyOf) ? anyOf : oneOf
    if (Array.isArray(options)) {
      return unionOf(options.map((option, index) => this.read(option, optionName(option, typeName, index))))
    }
    if (Array.isArray(schema.allOf)) {
      const [only, ...others] = schema.allOf
        .map((part) => this.read(part, typeName))
        .filter(({ kind }) => kind !== 'any')
      return only && others.length === 0 ? only : ANY
    }
    if (Array.isArray(type)) return unionOf(type.map((one) => this.#readType(schema, one, typeName)))
    return this.#readType(schema, type ?? impliedType(schema), typeName)
  }

  #readType(schema: JsonObject, type: JsonValue | undefined, typeName: string): Shape {
    switch (type) {
      case 'array':
        return { kind: 'list', items: this.#items(schema, typeName) }
      case 'object': {
        const fields = this.#ownFields(schema, typeName)
        if (fields.length > 0) return this.#declare(schema, typeName, fields)
        const { additionalProperties: values } = schema
        return { kind: 'map', values: isJsonObject(values) ? this.read(values, `${typeName}Value`) : ANY }
      }
      default:
        return typeof type === 'string' && Object.hasOwn(SIMPLE, type) ? (SIMPLE[type] as Shape) : ANY
    }
  }

  #items(schema: JsonObject, typeName: string): Shape {
    const { prefixItems, items } = schema
    const first = Array.isArray(prefixItems) ? prefixItems : []
    const all = [...first, ...(items === false ? [] : items === undefined && first.length > 0 ? [] : [items])]
    return unionOf(all.map((item, index) => this.read(item, `${typeName}Item${first.length > 0 ? index + 1 : ''}`)))
  }

  #declare(schema: JsonObject, typeName: string, fields: readonly Field[]): Shape {
    const name = this.#names.take(typeName)
    this.#declarations.push({ kind: 'object', name, ...describing(schema), fields })
    return { kind: 'named', name }
  }

  /** The fields of an object, with those of `allOf`. Undefined if the schema is no object with known fields. */
  #fields(schema: JsonObject, typeName: string): Field[] | undefined {
    const parts = this.#parts(schema, new Set())
    if (!parts?.some((part) => isJsonObject(part.properties) && Object.keys(part.properties).length > 0))
      return undefined
    const required = new Set(parts.flatMap((part) => (Array.isArray(part.required) ? part.required : [])))
    const fields = new Map<string, Field>()
    for (const part of parts) {
      for (const field of this.#ownFields(part, typeName, required)) {
        const known = fields.get(field.name)
        // Two parts that both restrict a field: the first that says more than `any` counts.
        if (!known || known.shape.kind === 'any') fields.set(field.name, field)
      }
    }
    return [...fields.values()]
  }

  /** The schema and all that it must match as well, if these are objects. A sole reference is no object of its own. */
  #parts(schema: JsonObject, seen: Set<string>): JsonObject[] | undefined {
    const { type, allOf, $ref, properties } = schema
    if (type !== undefined && type !== 'object') return undefined
    if ('const' in schema || 'enum' in schema) return undefined
    const further = Array.isArray(allOf) ? allOf : []
    if (!isJsonObject(properties) && further.length === 0) return undefined
    const parts: JsonObject[] = [schema]
    const targets = typeof $ref === 'string' ? [{ $ref }, ...further] : further
    for (const part of targets) {
      const resolved = this.#resolve(part, seen)
      if (!resolved) return undefined
      const inner = isJsonObject(resolved.properties) || resolved.allOf ? this.#parts(resolved, seen) : [resolved]
      if (!inner) return undefined
      parts.push(...inner)
    }
    return parts
  }

  #resolve(part: JsonValue, seen: Set<string>): JsonObject | undefined {
    if (!isJsonObject(part)) return undefined
    const { $ref } = part
    if (typeof $ref !== 'string') return part
    const target = this.#definitions.get($ref)
    if (!target || seen.has($ref)) return undefined
    seen.add($ref)
    return this.#resolve(target, seen)
  }

  #ownFields({ properties, required }: JsonObject, typeName: string, also: ReadonlySet<unknown> = new Set()): Field[] {
    if (!isJsonObject(properties)) return []
    const needed = new Set<unknown>(Array.isArray(required) ? required : [])
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      shape: this.read(schema, pascalName(typeName, name)),
      required: needed.has(name) || also.has(name),
      ...(isJsonObject(schema) && describing(schema)),
    }))
  }
}

function describing({ description, title }: JsonObject): { description?: string } {
  const text = typeof description === 'string' ? description : title
  return typeof text === 'string' && text.trim() !== '' ? { description: text } : {}
}

function optionName(option: JsonValue, typeName: string, index: number): string {
  const title = isJsonObject(option) ? option.title : undefined
  return typeof title === 'string' ? pascalName(typeName, title.slice(0, 40)) : `${typeName}Option${index + 1}`
}

function literalsOf(values: readonly JsonValue[]): Shape {
  const plain = values.filter((value) => value !== null && typeof value !== 'object')
  if (plain.length < values.filter((value) => value !== null).length) return ANY
  const nullable = plain.length < values.length
  if (plain.length === 0) return nullable ? (SIMPLE.null as Shape) : ANY
  const shape: Shape =
    plain.length > MAX_LITERALS
      ? unionOf(plain.map((value) => SIMPLE[typeof value] ?? ANY))
      : { kind: 'literals', values: [...new Set(plain as (string | number | boolean)[])] }
  return nullable ? orNull(shape) : shape
}

function impliedType({ properties, items, prefixItems }: JsonObject): string | undefined {
  if (isJsonObject(properties)) return 'object'
  return isJsonObject(items) || Array.isArray(prefixItems) ? 'array' : undefined
}
