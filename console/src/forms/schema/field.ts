/** What a form shows at one place: the facts of all schemas that apply there, read once. */
import { typesOf } from '../check/scalars.ts'
import { constantOf } from './branches.ts'
import { isObject, isSchema, nameList, type Schema, type SchemaObject, schemaMap } from './document.ts'
import type { Applied, Choice, FormModel, Place } from './model.ts'

export type FieldKind = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean'

/** A value to choose, as JSON text, so that types are kept. */
export interface Option {
  readonly text: string
  readonly label: string
  readonly description?: string
}

export interface Property {
  readonly name: string
  readonly required: boolean
}

export interface Field {
  readonly title: string | undefined
  readonly description: string | undefined
  /** Empty if every kind of value is allowed and nothing is known: a JSON field. */
  readonly kinds: readonly FieldKind[]
  readonly nullable: boolean
  readonly never: boolean
  readonly deprecated: boolean
  readonly readOnly: boolean
  readonly sensitive: boolean
  /** JSON text of the only value. */
  readonly constant: string | undefined
  readonly options: readonly Option[] | undefined
  /** JSON text, shown as a ghost. */
  readonly fallback: string | undefined
  readonly examples: readonly string[]
  readonly format: string | undefined
  readonly mediaType: string | undefined
  readonly encoding: string | undefined
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  readonly minItems: number
  readonly maxItems: number
  readonly properties: readonly Property[]
  /** The schemas of properties with other names; `false` if there may be none. */
  readonly additional: Place | false
  /** The names that `patternProperties` allows. */
  readonly namePatterns: readonly string[]
  /** The number of items that have a schema of their own. */
  readonly tuple: number
  /** The schemas of all further items; `false` if there may be none. */
  readonly items: Place | false
  readonly choices: readonly Choice[]
  readonly unresolved: readonly string[]
  /** Keywords that this page does not know. */
  readonly unknown: readonly string[]
  /** What `not` forbids, as JSON text. */
  readonly forbidden: readonly string[]
}

const KINDS: readonly FieldKind[] = ['object', 'array', 'string', 'number', 'integer', 'boolean']
const KNOWN = new Set(
  `$id $schema $ref $dynamicRef $anchor $dynamicAnchor $comment $defs $vocabulary definitions type enum const title
  description default examples example deprecated readOnly writeOnly format contentEncoding contentMediaType contentSchema
  multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems
  contains maxContains minContains items prefixItems additionalItems unevaluatedItems maxProperties minProperties required
  properties patternProperties additionalProperties unevaluatedProperties propertyNames dependentRequired dependentSchemas
  dependencies allOf anyOf oneOf not if then else discriminator nullable`.split(/\s+/),
)
/** Keywords that tell the kind of value where `type` is absent. */
const HINTS: readonly (readonly [FieldKind, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'propertyNames', 'minProperties']],
  ['array', ['items', 'prefixItems', 'contains', 'minItems', 'maxItems', 'uniqueItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format', 'contentMediaType', 'contentEncoding']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

export function readField(model: FormModel, applied: Applied): Field {
  const { schemas } = applied
  const first = <T>(keyword: string, is: (value: unknown) => value is T): T | undefined => {
    for (const schema of schemas) if (is(schema[keyword])) return schema[keyword] as T
    return undefined
  }
  const numbers = (keyword: string) =>
    schemas.map((schema) => schema[keyword]).filter((value) => typeof value === 'number')
  const some = (keyword: string) => schemas.some((schema) => schema[keyword] === true)
  const format = first('format', isText)
  const withDefault = schemas.find((schema) => Object.hasOwn(schema, 'default'))
  const withConst = schemas.find((schema) => Object.hasOwn(schema, 'const'))
  const options = optionsOf(model, applied)
  const single = options?.length === 1 && !applied.orNull ? options[0]?.text : undefined
  const constant = withConst ? JSON.stringify(withConst.const) : single
  return {
    title: schemas.find((schema) => isText(schema.title) && !applied.ofBranches.has(schema))?.title as
      | string
      | undefined,
    description: first('description', isText),
    kinds: kindsOf(schemas),
    nullable: isNullable(applied),
    never: applied.never,
    deprecated: some('deprecated'),
    readOnly: some('readOnly'),
    sensitive: some('writeOnly') || format === 'password',
    constant: constant === 'null' ? undefined : constant,
    options: options?.filter((option) => option.text !== 'null'),
    fallback: withDefault && JSON.stringify(withDefault.default),
    examples: examplesOf(schemas),
    format,
    mediaType: first('contentMediaType', isText),
    encoding: first('contentEncoding', isText),
    minLength: maxOf(numbers('minLength')),
    maxLength: minOf(numbers('maxLength')),
    minItems: maxOf(numbers('minItems')) ?? 0,
    maxItems: minOf(numbers('maxItems')) ?? Number.POSITIVE_INFINITY,
    properties: propertiesOf(schemas),
    additional: additionalOf(model, applied),
    namePatterns: schemas.flatMap((schema) => schemaMap(schema.patternProperties).map(([pattern]) => pattern)),
    tuple: Math.max(0, ...schemas.map((schema) => model.facts.itemSchemas(schema).first.length)),
    items: itemsOf(model, applied),
    choices: applied.choices,
    unresolved: applied.unresolved,
    unknown: [...new Set(schemas.flatMap((schema) => Object.keys(schema).filter((keyword) => !KNOWN.has(keyword))))],
    forbidden: schemas.filter((schema) => isSchema(schema.not)).map((schema) => JSON.stringify(schema.not)),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function minOf(numbers: number[]): number | undefined {
  return numbers.length > 0 ? Math.min(...numbers) : undefined
}

function maxOf(numbers: number[]): number | undefined {
  return numbers.length > 0 ? Math.max(...numbers) : undefined
}

function kindsOf(schemas: readonly SchemaObject[]): FieldKind[] {
  const declared = schemas.filter((schema) => schema.type !== undefined).map((schema) => new Set(typesOf(schema.type)))
  if (declared.length === 0) {
    const hinted = HINTS.filter(([, keywords]) => schemas.some((schema) => keywords.some((name) => name in schema)))
    return hinted.length === 1 ? hinted.map(([kind]) => kind) : []
  }
  const allows = (types: ReadonlySet<string>, kind: FieldKind) =>
    types.has(kind) || (kind === 'integer' && types.has('number'))
  const kinds = KINDS.filter((kind) => declared.every((types) => allows(types, kind)))
  return kinds.filter((kind) => kind !== 'integer' || !kinds.includes('number'))
}

function isNullable({ schemas, orNull }: Applied): boolean {
  if (orNull || schemas.some((schema) => schema.nullable === true)) return true
  const typed = schemas.filter((schema) => schema.type !== undefined)
  const listed = schemas.filter((schema) => Array.isArray(schema.enum))
  if (typed.length + listed.length === 0) return false
  return (
    typed.every((schema) => typesOf(schema.type).includes('null')) &&
    listed.every((schema) => (schema.enum as unknown[]).includes(null))
  )
}

function optionsOf(model: FormModel, { schemas, constants }: Applied): Option[] | undefined {
  const lists: Option[][] = []
  for (const { enum: values } of schemas) {
    if (Array.isArray(values))
      lists.push(values.map((value) => ({ text: JSON.stringify(value), label: labelOf(value) })))
  }
  for (const branches of constants) lists.push(branches.map((branch) => optionOf(model, branch)))
  const [options, ...others] = lists
  if (!options) return undefined
  const sets = others.map((list) => new Set(list.map((option) => option.text)))
  return options.filter((option) => sets.every((set) => set.has(option.text)))
}

function optionOf(model: FormModel, branch: Schema): Option {
  const value = constantOf(model, branch)?.value
  const target = model.target(branch)
  const { title, description } = isObject(target) ? target : {}
  return {
    text: JSON.stringify(value) ?? 'null',
    label: isText(title) ? title : labelOf(value),
    ...(isText(description) && { description }),
  }
}

function labelOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}

function examplesOf(schemas: readonly SchemaObject[]): string[] {
  const all = schemas.flatMap(({ examples, example }) => [
    ...(Array.isArray(examples) ? examples : []),
    ...(example === undefined ? [] : [example]),
  ])
  return [...new Set(all.map((value) => JSON.stringify(value)))]
}

function propertiesOf(schemas: readonly SchemaObject[]): Property[] {
  const required = new Set(schemas.flatMap((schema) => nameList(schema.required)))
  const names = new Set(schemas.flatMap((schema) => schemaMap(schema.properties).map(([name]) => name)))
  return [...new Set([...names, ...required])].map((name) => ({ name, required: required.has(name) }))
}

function additionalOf(model: FormModel, applied: Applied): Place | false {
  const given = applied.schemas.map((schema) => schema.additionalProperties ?? schema.unevaluatedProperties)
  if (given.includes(false)) return false
  // A name that no schema can have, so that only the schemas for other names remain.
  return model.propertyPlace(
    { ...applied, schemas: applied.schemas.map(({ properties, patternProperties, ...rest }) => rest) },
    '',
  )
}

function itemsOf(model: FormModel, applied: Applied): Place | false {
  const rests = applied.schemas.map((schema) => model.facts.itemSchemas(schema).rest ?? schema.unevaluatedItems)
  if (rests.includes(false)) return false
  return rests.filter(isSchema)
}
