/** Compares the constraints of a JSON Schema on single values: tightened, relaxed, or not comparable. */
import { canonicalJson, type JsonObject, type JsonValue } from '../../core/json.ts'
import { breaking, type SchemaChange, safe } from './changes.ts'

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string']

/** OpenCALL, "Schema Evolution": widening is safe and narrowing breaks, in arguments and results alike. */
export function compareConstraints(before: JsonObject, after: JsonObject): SchemaChange[] {
  return [
    ...compareTypes(before, after),
    ...compareValues(before, after),
    ...compareBound('minimum', lowerBound(before), lowerBound(after)),
    ...compareBound('maximum', upperBound(before), upperBound(after)),
    ...LEAST.flatMap((keyword) => compareBound(keyword, count(before[keyword]), count(after[keyword]))),
    ...MOST.flatMap((keyword) => compareBound(keyword, negative(before[keyword]), negative(after[keyword]))),
    ...compareMultiple(before, after),
    ...compareUnique(before, after),
    ...OPAQUE.flatMap((keyword) => compareOpaque(keyword, before[keyword], after[keyword])),
    ...compareDefault(before, after),
  ]
}

// ── Types and values ────────────────────────────────────────────────────────────────────────────────────────────────

function compareTypes(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [typesOf(before), typesOf(after)]
  const covers = (types: readonly string[], type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  if (was.some((type) => !covers(is, type)))
    return [breaking(['type'], `type narrowed from ${name(was)} to ${name(is)}`)]
  if (is.some((type) => !covers(was, type))) return [safe(['type'], `type widened from ${name(was)} to ${name(is)}`)]
  return []
}

export function typesOf(schema: JsonObject): readonly string[] {
  if (schema.type !== undefined) return [schema.type].flat().map(String)
  const values = valuesOf(schema)
  return values ? [...new Set(values.map(typeOf))] : TYPES
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function name(types: readonly string[]): string {
  return types === TYPES ? 'anything' : types.join(' or ')
}

/** `const` counts as an `enum` with one value. */
export function valuesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  if (schema.const !== undefined) return [schema.const]
  return Array.isArray(schema.enum) ? schema.enum : undefined
}

function compareValues(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [valuesOf(before)?.map(canonicalJson), valuesOf(after)?.map(canonicalJson)]
  const at = [after.const !== undefined || (is === undefined && before.const !== undefined) ? 'const' : 'enum']
  if (!is) return was ? [safe(at, 'any value is now allowed instead of a list')] : []
  if (!was) return [breaking(at, `only ${is.join(', ')} allowed now`)]
  const lost = was.filter((value) => !is.includes(value))
  const gained = is.filter((value) => !was.includes(value))
  return [
    ...(lost.length > 0 ? [breaking(at, `no longer allows ${lost.join(', ')}`)] : []),
    ...(gained.length > 0 ? [safe(at, `also allows ${gained.join(', ')}`)] : []),
  ]
}

// ── Bounds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const LEAST = ['minLength', 'minItems', 'minProperties']
const MOST = ['maxLength', 'maxItems', 'maxProperties']
const OPAQUE = ['pattern', 'format', 'contentEncoding', 'contentMediaType']

/** A lower bound of values. Upper bounds are negated, so that higher always means tighter. */
interface Bound {
  readonly value: number
  readonly exclusive: boolean
  readonly text: string
}

const FREE: Bound = { value: Number.NEGATIVE_INFINITY, exclusive: false, text: 'none' }

function compareBound(keyword: string, was: Bound, is: Bound): SchemaChange[] {
  const order = is.value === was.value ? Number(is.exclusive) - Number(was.exclusive) : is.value - was.value
  if (order === 0) return []
  const change = `${keyword} %s from ${was.text} to ${is.text}`
  return order > 0
    ? [breaking([keyword], change.replace('%s', 'tightened'))]
    : [safe([keyword], change.replace('%s', 'relaxed'))]
}

function lowerBound(schema: JsonObject): Bound {
  return tighter(bound(schema.minimum, 1, false), bound(schema.exclusiveMinimum, 1, true))
}

function upperBound(schema: JsonObject): Bound {
  return tighter(bound(schema.maximum, -1, false), bound(schema.exclusiveMaximum, -1, true))
}

function count(value: JsonValue | undefined): Bound {
  // A minimum of 0 is no restriction.
  return value === 0 ? FREE : bound(value, 1, false)
}

function negative(value: JsonValue | undefined): Bound {
  return bound(value, -1, false)
}

function bound(value: JsonValue | undefined, sign: 1 | -1, exclusive: boolean): Bound {
  if (typeof value !== 'number') return FREE
  return { value: value * sign, exclusive, text: exclusive ? `${value} (exclusive)` : String(value) }
}

function tighter(one: Bound, other: Bound): Bound {
  if (one.value === other.value) return one.exclusive ? one : other
  return one.value > other.value ? one : other
}

function compareMultiple(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [before.multipleOf, after.multipleOf]
  if (was === is) return []
  if (is === undefined) return [safe(['multipleOf'], `no longer has to be a multiple of ${String(was)}`)]
  const divides = typeof was === 'number' && typeof is === 'number' && Number.isInteger(was / is)
  const message = `must be a multiple of ${String(is)}, previously of ${String(was ?? 'nothing')}`
  return [divides ? safe(['multipleOf'], message) : breaking(['multipleOf'], message)]
}

function compareUnique(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [before.uniqueItems === true, after.uniqueItems === true]
  if (was === is) return []
  return [
    is
      ? breaking(['uniqueItems'], 'items must now be unique')
      : safe(['uniqueItems'], 'items no longer have to be unique'),
  ]
}

/** Two patterns or formats cannot be compared. Every change except removal counts as tighter. */
function compareOpaque(keyword: string, was: JsonValue | undefined, is: JsonValue | undefined): SchemaChange[] {
  if (was === is) return []
  if (is === undefined) return [safe([keyword], `${keyword} ${JSON.stringify(was)} is no longer required`)]
  if (was === undefined) return [breaking([keyword], `${keyword} ${JSON.stringify(is)} is now required`)]
  const change = `${keyword} changed from ${JSON.stringify(was)} to ${JSON.stringify(is)}`
  return [breaking([keyword], `${change}, which cannot be shown to allow everything it did before`)]
}

function compareDefault(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [before.default, after.default].map((value) =>
    value === undefined ? 'none' : canonicalJson(value),
  )
  return was === is ? [] : [safe(['default'], `default changed from ${was} to ${is}`)]
}
