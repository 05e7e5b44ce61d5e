/** Compares the alternatives of `anyOf` and `oneOf`. */
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { below, breaking, type Comparison, listOf, type SchemaChange, safe, unprovable } from './changes.ts'
import { typesOf, valuesOf } from './constraints.ts'

export interface UnionChanges {
  /** True if the alternatives are everything there is to compare: one side is only a union, the other has none. */
  readonly whole: boolean
  readonly changes: SchemaChange[]
}

const UNIONS = ['anyOf', 'oneOf'] as const

export function compareUnions(comparison: Comparison, before: JsonObject, after: JsonObject): UnionChanges {
  if (hasBoth(before) || hasBoth(after)) {
    const differing = UNIONS.filter(
      (name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null),
    )
    return { whole: false, changes: differing.map((name) => unprovable([name])) }
  }
  const [was, is] = [unionOf(before), unionOf(after)]
  if (!was && !is) return { whole: false, changes: [] }
  if (was && is) return { whole: false, changes: compareAlternatives(comparison, was, is) }
  if (is && isPure(after)) {
    // `string` became `string or null`, in any notation of a library.
    const alone: Union = { keyword: is.keyword, alternatives: splitTypes(before) }
    return { whole: true, changes: compareAlternatives(comparison, alone, is) }
  }
  if (was && isPure(before)) return { whole: true, changes: compareMerged(comparison, was, after) }
  const keyword = (was ?? (is as Union)).keyword
  return {
    whole: false,
    changes: [is ? unprovable([keyword]) : safe([keyword], 'is no longer restricted to alternatives')],
  }
}

function hasBoth(schema: JsonObject): boolean {
  return UNIONS.every((name) => schema[name] !== undefined)
}

interface Union {
  readonly keyword: (typeof UNIONS)[number]
  readonly alternatives: readonly JsonValue[]
}

function unionOf(schema: JsonObject): Union | undefined {
  const keyword = UNIONS.find((name) => Array.isArray(schema[name]))
  return keyword && { keyword, alternatives: listOf(schema[keyword]) }
}

const BESIDE_A_UNION = new Set(['title', 'description', 'default', 'examples', '$schema', '$defs', '$id', '$comment'])

function isPure(schema: JsonObject): boolean {
  const limits = Object.keys(schema).filter((keyword) => !BESIDE_A_UNION.has(keyword))
  return limits.length === 1
}

function splitTypes(schema: JsonObject): JsonObject[] {
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [schema]
}

function compareAlternatives(comparison: Comparison, was: Union, is: Union): SchemaChange[] {
  const { compare } = comparison
  const fresh = new Set(is.alternatives.keys())
  const take = (old: JsonValue, fits: (changes: readonly SchemaChange[]) => boolean) => {
    const index = [...fresh].find((candidate) => fits(compare(old, is.alternatives[candidate])))
    if (index !== undefined) fresh.delete(index)
    return index
  }
  // Pairs equal alternatives first, then those that were only widened, then the rest in order.
  const changed = was.alternatives.filter((old) => take(old, (changes) => changes.length === 0) === undefined)
  const changes: SchemaChange[] = []
  const at = (index: number) => [is.keyword, String(index)]
  const narrowed = changed.filter((old) => {
    const index = take(old, (found) => found.every(({ kind }) => kind === 'safe'))
    if (index !== undefined) changes.push(...below(at(index), compare(old, is.alternatives[index])))
    return index === undefined
  })
  for (const old of narrowed) {
    const index = narrowed.length <= fresh.size ? take(old, () => true) : undefined
    if (index === undefined) changes.push(breaking([is.keyword], 'an alternative was removed or narrowed'))
    else changes.push(...below(at(index), compare(old, is.alternatives[index])))
  }
  for (const index of fresh) changes.push(safe(at(index), 'an alternative was added'))
  return [...changes, ...compareExclusive(comparison, was, is, changes.length > 0)]
}

/** `oneOf` refuses a value that matches twice, so widening one alternative may narrow the whole. */
function compareExclusive(comparison: Comparison, was: Union, is: Union, changed: boolean): SchemaChange[] {
  if (is.keyword === 'anyOf') return []
  if (!changed && was.keyword === 'oneOf') return []
  const branches = is.alternatives.map((branch) => comparison.resolveAfter(branch))
  const apart = branches.every((one, index) => branches.slice(index + 1).every((other) => areApart(one, other)))
  return apart ? [] : [unprovable([is.keyword])]
}

function areApart(one: JsonObject, other: JsonObject): boolean {
  const [left, right] = [typesOf(one), typesOf(other)]
  const overlap = (type: string) => right.includes(type) || (type === 'integer' && right.includes('number'))
  if (!left.some(overlap) && !(left.includes('number') && right.includes('integer'))) return true
  if (haveApartValues(one, other)) return true
  const [fields, others] = [one.properties, other.properties]
  if (!isJsonObject(fields) || !isJsonObject(others)) return false
  return listOf(one.required).some((name) => {
    if (typeof name !== 'string' || !listOf(other.required).includes(name)) return false
    const [field, same] = [fields[name], others[name]]
    return isJsonObject(field) && isJsonObject(same) && haveApartValues(field, same)
  })
}

function haveApartValues(one: JsonObject, other: JsonObject): boolean {
  const [left, right] = [valuesOf(one)?.map(canonicalJson), valuesOf(other)?.map(canonicalJson)]
  return left !== undefined && right !== undefined && !left.some((value) => right.includes(value))
}

/** Alternatives became one schema: safe if it covers each of them. */
function compareMerged({ compare }: Comparison, was: Union, after: JsonObject): SchemaChange[] {
  const lost = was.alternatives.filter((old) => compare(old, after).some(({ kind }) => kind === 'breaking'))
  if (lost.length > 0) return [breaking([was.keyword], 'an alternative was removed or narrowed')]
  return [safe([was.keyword], 'its alternatives became one wider schema')]
}
