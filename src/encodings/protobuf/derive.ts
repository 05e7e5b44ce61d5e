/**
 * Derives a protobuf message from a frame schema. Properties are numbered in their order. A schema that protobuf cannot
 * express is refused. docs/guides/streams.md has the table.
 */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { parseName } from '../../core/operation/names.ts'

/** The numbers of `google.protobuf.FieldDescriptorProto.Type`. */
const SCALARS: Readonly<Record<string, number>> = { number: 1, integer: 3, boolean: 8, string: 9 }
const MESSAGE = 11
const OPTIONAL = 1
const REPEATED = 3

interface Field {
  name: string
  jsonName: string
  number: number
  label: number
  type: number
  typeName?: string
  proto3Optional?: boolean
  oneofIndex?: number
}

/** The part of `google.protobuf.DescriptorProto` that is used here. */
interface Message {
  name: string
  field: Field[]
  nestedType: Message[]
  oneofDecl: { name: string }[]
  options?: { mapEntry: boolean }
}

export interface DerivedFile {
  name: string
  package: string
  syntax: 'proto3'
  messageType: Message[]
}

/** The file of the frame's message, and the full name of the message. */
export function deriveFile(operation: string, schema: JsonObject): { file: DerivedFile; typeName: string } {
  const { major, namespace = '', base } = parseName(operation)
  const segments = namespace === '' ? [] : namespace.split('.').map((segment) => identifier(segment).toLowerCase())
  const derivation = new Derivation(operation, schema, [...segments, `v${major}`].join('.'))
  const typeName = derivation.message(`${pascal(base)}Frame`, schema, 'the frame')
  return { file: derivation.file, typeName }
}

class Derivation {
  readonly file: DerivedFile
  readonly #operation: string
  readonly #root: JsonObject
  /** Messages of `$defs` by their reference. A message may contain itself. */
  readonly #referenced = new Map<string, string>()

  constructor(operation: string, root: JsonObject, packageName: string) {
    this.#operation = operation
    this.#root = root
    const name = `${packageName.replaceAll('.', '/')}/frame.proto`
    this.file = { name, package: packageName, syntax: 'proto3', messageType: [] }
  }

  /** Adds a message to the file, and returns its full name. */
  message(wanted: string, schema: JsonObject, where: string): string {
    const name = this.#unused(wanted)
    const message: Message = { name, field: [], nestedType: [], oneofDecl: [] }
    const typeName = `${this.file.package}.${name}`
    this.file.messageType.push(message)
    const { properties } = schema
    if (!isJsonObject(properties)) throw this.#refusal(where, 'is not an object with properties')
    const required = Array.isArray(schema.required) ? schema.required : []
    for (const [property, value] of Object.entries(properties)) {
      this.#add(message, typeName, property, value, required.includes(property))
    }
    return typeName
  }

  #add(message: Message, owner: string, property: string, value: JsonValue, required: boolean): void {
    const where = `the property "${property}"`
    const { schema, nullable } = this.#plain(value, where)
    const name = identifier(property)
    if (message.field.some((field) => field.name === name)) throw this.#refusal(where, `is a second "${name}"`)
    const number = message.field.length + 1
    const field: Field = { name, jsonName: property, number, label: OPTIONAL, type: 0 }
    message.field.push(field)
    if (schema.type === 'array') {
      if (nullable) throw this.#refusal(where, 'is a list or null, and a message cannot tell null from an empty list')
      Object.assign(field, { label: REPEATED }, this.#itemOf(message.name, property, schema.items, where))
    } else if (isMap(schema)) {
      const entry = this.#mapEntry(property, schema.additionalProperties as JsonValue, where)
      message.nestedType.push(entry)
      Object.assign(field, { label: REPEATED, type: MESSAGE, typeName: `.${owner}.${entry.name}` })
    } else {
      Object.assign(field, this.#single(message.name, property, schema, where))
      if ((!required || nullable) && field.type !== MESSAGE) {
        field.proto3Optional = true
        field.oneofIndex = message.oneofDecl.push({ name: `_${name}` }) - 1
      }
    }
  }

  #itemOf(message: string, property: string, items: JsonValue | undefined, where: string) {
    const { schema, nullable } = this.#plain(items ?? {}, `an item of ${where}`)
    if (nullable) throw this.#refusal(where, 'has items that may be null')
    if (schema.type === 'array' || isMap(schema)) throw this.#refusal(where, 'is a list of lists or maps')
    return this.#single(message, property, schema, where)
  }

  #mapEntry(property: string, values: JsonValue, where: string): Message {
    const name = `${pascal(property)}Entry`
    const { schema, nullable } = this.#plain(values, `a value of ${where}`)
    if (nullable || schema.type === 'array' || isMap(schema))
      throw this.#refusal(where, 'is a map of nulls, lists or maps')
    const value = this.#single(name, 'value', schema, where)
    const key = { name: 'key', jsonName: 'key', number: 1, label: OPTIONAL, type: SCALARS.string as number }
    const field = [key, { name: 'value', jsonName: 'value', number: 2, label: OPTIONAL, ...value }]
    return { name, field, nestedType: [], oneofDecl: [], options: { mapEntry: true } }
  }

  #single(owner: string, property: string, schema: JsonObject, where: string): { type: number; typeName?: string } {
    const scalar = SCALARS[String(schema.type)]
    if (scalar !== undefined) return { type: scalar }
    if (schema.type !== 'object') throw this.#refusal(where, 'has no single type')
    return { type: MESSAGE, typeName: `.${this.#messageOf(`${owner}${pascal(property)}`, schema, where)}` }
  }

  #messageOf(name: string, schema: JsonObject, where: string): string {
    const ref = typeof schema[REF] === 'string' ? schema[REF] : undefined
    if (ref === undefined) return this.message(name, schema, where)
    const known = this.#referenced.get(ref)
    if (known !== undefined) return known
    const own = this.#unused(pascal(ref.slice(ref.lastIndexOf('/') + 1)))
    this.#referenced.set(ref, `${this.file.package}.${own}`)
    return this.message(own, schema, where)
  }

  /** Follows a reference, and takes null out of the type. */
  #plain(value: JsonValue, where: string): { schema: JsonObject; nullable: boolean } {
    const schema = this.#resolved(value, where)
    if (schema.allOf !== undefined) throw this.#refusal(where, 'has "allOf"')
    const choices = schema.anyOf ?? schema.oneOf
    if (Array.isArray(choices)) {
      const others = choices.filter((choice) => !(isJsonObject(choice) && choice.type === 'null'))
      if (others.length !== 1 || others[0] === undefined) throw this.#refusal(where, 'is a choice of types')
      return { ...this.#plain(others[0], where), nullable: others.length < choices.length }
    }
    if (!Array.isArray(schema.type)) return { schema: typed(schema), nullable: false }
    const types = schema.type.filter((type) => type !== 'null')
    if (types.length !== 1) throw this.#refusal(where, 'is a choice of types')
    return { schema: { ...schema, type: types[0] as string }, nullable: types.length < schema.type.length }
  }

  #resolved(value: JsonValue, where: string): JsonObject {
    if (!isJsonObject(value)) throw this.#refusal(where, 'can be anything')
    if (typeof value.$ref !== 'string') return value
    if (value.$ref === '#') return { ...this.#root, [REF]: value.$ref }
    const path = value.$ref.startsWith('#/') ? value.$ref.slice(2).split('/').map(unescapePointer) : []
    let found: JsonValue | undefined = path.length > 0 ? this.#root : undefined
    for (const key of path) found = isJsonObject(found) ? found[key] : undefined
    if (!isJsonObject(found)) throw this.#refusal(where, `refers to "${value.$ref}", which is not in the schema`)
    return typeof found.$ref === 'string' ? this.#resolved(found, where) : { ...found, [REF]: value.$ref }
  }

  #unused(wanted: string): string {
    const taken = new Set(this.file.messageType.map(({ name }) => name))
    let name = wanted
    for (let number = 2; taken.has(name); number++) name = `${wanted}${number}`
    return name
  }

  #refusal(where: string, problem: string): Fault {
    const message = `${this.#operation}: the frames cannot be sent as protobuf: ${where} ${problem}. Change the frame schema, give stream.message, or leave the encoding out.`
    return new Fault('malformed', message, { code: 'INVALID_OPERATION' })
  }
}

/** Remembers the reference that a schema came from. No keyword of JSON Schema has this name. */
const REF = ' ref'

/** A schema without a type whose values say it. */
function typed(schema: JsonObject): JsonObject {
  if (schema.type !== undefined) return schema
  if (isJsonObject(schema.properties)) return { ...schema, type: 'object' }
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const]
  const types = new Set(values.map((value) => typeof value))
  const [type] = types
  return types.size === 1 && type !== undefined && type in SCALARS ? { ...schema, type } : schema
}

function isMap({ type, properties, additionalProperties }: JsonObject): boolean {
  return type === 'object' && !isJsonObject(properties) && isJsonObject(additionalProperties)
}

function identifier(text: string): string {
  const name = text.replaceAll(/\W/g, '_')
  return /^[A-Za-z]/.test(name) ? name : `f_${name}`
}

function pascal(text: string): string {
  return identifier(text).replaceAll(/(?:^|_+)([A-Za-z0-9])/g, (_all, first: string) => first.toUpperCase())
}

function unescapePointer(segment: string): string {
  return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
}
