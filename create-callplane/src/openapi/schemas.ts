/**
 * Turns schemas of OpenAPI 3.0 and 3.1 into JSON Schema 2020-12. Keywords that a validator does not use are left out.
 * Referred schemas are kept once, below `$defs`, so that a schema may contain itself.
 */
import { refuseEndless } from './endless.ts'
import { isObject, type Json, type JsonObject, listAt, member, textAt } from './json.ts'
import { type Place, quoted, type References } from './references.ts'
import { Unmappable } from './unmappable.ts'

/** A declaration may nest 64 levels, of which the rest of it needs some. */
const MAX_DEPTH = 40
const MAX_VALUES = 20_000
const MAX_TEXT = 4_000

const TYPES: readonly Json[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const COUNTS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]
const TEXTS = ['title', 'description', 'format', 'contentEncoding', 'contentMediaType']
const SCHEMAS = [
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
  'unevaluatedProperties',
  'unevaluatedItems',
]
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const MAPS = ['patternProperties', 'dependentSchemas']

export type Direction = 'request' | 'response'

type Draft = Record<string, unknown>

interface Def {
  readonly name: string
  readonly place: Place
  schema: Draft | boolean
}

/** Converts the schemas of one tool: its arguments, or its result. */
export class SchemaWriter {
  readonly #references: References
  readonly #direction: Direction
  readonly #defs = new Map<string, Def>()
  /** Written one after the other and not inside each other: a chain of references may be long. */
  readonly #pending: Def[] = []
  readonly #names = new Set<string>()
  #values = 0

  constructor(references: References, direction: Direction) {
    this.#references = references
    this.#direction = direction
  }

  /** The referred schemas, as `$defs` of the whole. */
  defs(): { $defs?: Record<string, unknown> } {
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) {
      next.schema = this.write(next.place.value, next.place.file)
    }
    if (this.#defs.size === 0) return {}
    const schemas = new Map([...this.#defs.values()].map(({ name, schema }) => [name, schema]))
    refuseEndless(schemas)
    return { $defs: Object.fromEntries(schemas) }
  }

  write(given: Json | undefined, file: string, depth = 0): Draft | boolean {
    if (given === undefined) return {}
    if (typeof given === 'boolean') return given
    if (!isObject(given)) throw new Unmappable('a schema is not an object')
    if (depth > MAX_DEPTH) throw new Unmappable(`a schema nests deeper than ${MAX_DEPTH} levels`)
    this.#count(1)
    const ref = textAt(given, '$ref')
    if (ref === undefined) return this.#keywords(given, file, depth)
    const description = textAt(given, 'description')
    return { $ref: this.#refer(ref, file), ...(description && { description: description.slice(0, MAX_TEXT) }) }
  }

  #refer(ref: string, from: string): string {
    const place = this.#references.target(ref, from)
    const known = this.#defs.get(place.id)
    if (known) return `#/$defs/${known.name}`
    const def: Def = { name: this.#nameOf(place.id), place, schema: true }
    this.#defs.set(place.id, def)
    this.#pending.push(def)
    return `#/$defs/${def.name}`
  }

  #nameOf(id: string): string {
    const word = (id.split('/').at(-1) ?? '').replaceAll(/[^\w-]+/g, '_').slice(0, 60) || 'schema'
    let name = word
    for (let number = 2; this.#names.has(name); number++) name = `${word}_${number}`
    this.#names.add(name)
    return name
  }

  #keywords(given: JsonObject, file: string, depth: number): Draft {
    if (Object.hasOwn(given, '$dynamicRef')) throw new Unmappable('a schema uses $dynamicRef')
    const draft: Draft = {}
    const inner = (value: Json | undefined) => this.write(value, file, depth + 1)
    for (const name of TEXTS) copyText(given, name, draft)
    for (const name of NUMBERS) copyNumber(given, name, draft)
    for (const name of COUNTS) copyCount(given, name, draft)
    for (const name of SCHEMAS) if (Object.hasOwn(given, name)) draft[name] = inner(given[name])
    for (const name of LISTS) {
      const list = listAt(given, name)
      if (list.length > 0) draft[name] = list.map(inner)
    }
    for (const name of MAPS) {
      const map = member(given, name)
      if (isObject(map)) draft[name] = mapValues(map, inner)
    }
    this.#copyValues(given, draft)
    copyPattern(given, draft)
    if (given.uniqueItems === true) draft.uniqueItems = true
    copyTypes(given, draft)
    this.#copyProperties(given, draft, inner)
    return draft
  }

  #copyValues(given: JsonObject, draft: Draft): void {
    if (Array.isArray(given.enum) && given.enum.length > 0) draft.enum = given.enum
    if (Object.hasOwn(given, 'const')) draft.const = given.const
    if (Object.hasOwn(given, 'default')) this.#describeDefault(given.default, draft)
    this.#count(countValues([draft.enum, draft.const], MAX_VALUES))
  }

  /**
   * The server would put a `default` into the request, and a PATCH would then set values that its caller did not name.
   * The API itself knows its defaults; callers read them.
   */
  #describeDefault(value: Json | undefined, draft: Draft): void {
    if (this.#direction === 'response' || typeof value === 'object' || value === undefined) return
    draft.description = [draft.description, `Default: ${String(value).slice(0, 200)}.`].filter(Boolean).join(' ')
  }

  /** A caller cannot set what only the API sets, and a response does not have what only a caller sets. */
  #copyProperties(given: JsonObject, draft: Draft, inner: (value: Json | undefined) => Draft | boolean): void {
    const hidden = this.#direction === 'request' ? 'readOnly' : 'writeOnly'
    const properties = member(given, 'properties')
    const gone = new Set<string>()
    if (isObject(properties)) {
      const shown = Object.entries(properties).filter(([name, schema]) => {
        const isHidden = member(schema, hidden) === true
        if (isHidden) gone.add(name)
        return !isHidden
      })
      draft.properties = mapValues(Object.fromEntries(shown), inner)
    }
    const required = listAt(given, 'required').filter((name) => typeof name === 'string' && !gone.has(name))
    if (required.length > 0) draft.required = [...new Set(required)]
  }

  #count(values: number): void {
    this.#values += values
    if (this.#values > MAX_VALUES) throw new Unmappable(`its schemas have more than ${MAX_VALUES} values`)
  }
}

function mapValues(map: JsonObject, inner: (value: Json) => Draft | boolean): Record<string, unknown> {
  for (const name of ['__proto__', '<<']) {
    if (Object.hasOwn(map, name)) throw new Unmappable(`a schema has a property ${quoted(name)}`)
  }
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, inner(value)]))
}

function copyText(given: JsonObject, name: string, draft: Draft): void {
  const text = textAt(given, name)
  if (text !== undefined && text !== '') draft[name] = text.slice(0, MAX_TEXT).toWellFormed()
}

function copyNumber(given: JsonObject, name: string, draft: Draft): void {
  const value = member(given, name)
  if (typeof value === 'number' && Number.isFinite(value) && (name !== 'multipleOf' || value > 0)) draft[name] = value
  // OpenAPI 3.0: `exclusiveMinimum: true` beside `minimum`.
  if (value !== true) return
  const bound = name === 'exclusiveMinimum' ? 'minimum' : 'maximum'
  if (typeof draft[bound] !== 'number') return
  draft[name] = draft[bound]
  delete draft[bound]
}

function copyCount(given: JsonObject, name: string, draft: Draft): void {
  const value = member(given, name)
  if (Number.isSafeInteger(value) && Number(value) >= 0) draft[name] = value
}

/** A pattern of another regular expression language would be refused by the server. Without it more is accepted. */
function copyPattern(given: JsonObject, draft: Draft): void {
  const pattern = textAt(given, 'pattern')
  if (pattern !== undefined && isPattern(pattern)) draft.pattern = pattern
  if (draft.patternProperties === undefined) return
  const kept = Object.entries(draft.patternProperties as object).filter(([name]) => isPattern(name))
  draft.patternProperties = Object.fromEntries(kept)
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

/** OpenAPI 3.0: `nullable: true` beside `type`. */
function copyTypes(given: JsonObject, draft: Draft): void {
  const type = member(given, 'type')
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type]
  const unknown = types.find((one) => !TYPES.includes(one))
  if (unknown !== undefined) throw new Unmappable(`a schema has the type ${quoted(String(unknown))}`)
  const all = new Set<Json>(given.nullable === true && types.length > 0 ? [...types, 'null'] : types)
  if (all.size === 0) return
  draft.type = all.size === 1 ? [...all][0] : [...all]
  if (all.has('null') && Array.isArray(draft.enum) && given.nullable === true && !draft.enum.includes(null)) {
    draft.enum = [...draft.enum, null]
  }
}

function countValues(value: unknown, limit: number): number {
  let count = 0
  const rest: unknown[] = [value]
  while (rest.length > 0 && count <= limit) {
    count++
    const one = rest.pop()
    if (typeof one === 'object' && one !== null) for (const inner of Object.values(one)) rest.push(inner)
  }
  return count
}
