/**
 * Compares two JSON Schemas of the same value. A change is safe if the new schema provably allows everything the old
 * one did. Any other change is reported as breaking, with a note that safety could not be shown: a wrong "safe" breaks
 * a caller, a wrong "breaking" costs a look.
 */
import { canonicalJson, isJsonObject, type JsonObject } from '../../core/json.ts'
import {
  below,
  breaking,
  type Comparison,
  listOf,
  type Reader,
  type SchemaChange,
  safe,
  unprovable,
} from './changes.ts'
import { compareConstraints } from './constraints.ts'
import { compareObjects } from './objects.ts'
import { createResolver } from './resolve.ts'
import { compareUnions } from './unions.ts'

/** Limits the list for large schemas that are shared many times and differ everywhere. */
const MAX_CHANGES = 200

export function compareSchemas(before: JsonObject, after: JsonObject, reader: Reader): readonly SchemaChange[] {
  const resolveBefore = createResolver(before)
  const resolveAfter = createResolver(after)
  const known = new Map<JsonObject, Map<JsonObject, readonly SchemaChange[]>>()

  const compare: Comparison['compare'] = (one, other) => {
    const was = resolveBefore(one)
    const is = resolveAfter(other)
    const answers = known.get(was) ?? new Map<JsonObject, readonly SchemaChange[]>()
    known.set(was, answers)
    const answer = answers.get(is)
    if (answer) return answer
    // The same pair inside itself adds nothing: the first comparison finds all differences.
    answers.set(is, [])
    const changes = compareResolved(comparison, was, is).slice(0, MAX_CHANGES)
    answers.set(is, changes)
    return changes
  }
  const comparison: Comparison = { reader, compare, resolveAfter }
  return compare(before, after)
}

function compareResolved(comparison: Comparison, before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [allowsNothing(before), allowsNothing(after)]
  if (was || is) {
    if (was === is) return []
    return [was ? safe([], 'is now allowed') : breaking([], 'is no longer allowed')]
  }
  const unions = compareUnions(comparison, before, after)
  if (unions.whole) return unions.changes
  return [
    ...compareConstraints(before, after),
    ...compareObjects(comparison, before, after),
    ...compareLists(comparison, before, after),
    ...unions.changes,
    ...compareAll(comparison, before, after),
    ...compareTheRest(comparison, before, after),
  ]
}

function allowsNothing(schema: JsonObject): boolean {
  const { not } = schema
  return not === true || (isJsonObject(not) && Object.keys(not).length === 0)
}

function compareLists({ compare }: Comparison, before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [listOf(before.prefixItems), listOf(after.prefixItems)]
  const length = Math.max(was.length, is.length)
  // An index that one side does not list falls under its `items`.
  const places = Array.from({ length }, (_, index) =>
    below(['prefixItems', String(index)], compare(was[index] ?? before.items, is[index] ?? after.items)),
  )
  return [...places.flat(), ...below(['items'], compare(before.items, after.items))]
}

/** Every part of `allOf` must hold: an added part tightens, a removed part relaxes. */
function compareAll({ compare }: Comparison, before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [listOf(before.allOf), listOf(after.allOf)]
  if (was.length === is.length) {
    return was.flatMap((part, index) => below(['allOf', String(index)], compare(part, is[index])))
  }
  const added = is.some((part) => !was.some((old) => compare(old, part).length === 0))
  return [added ? unprovable(['allOf']) : safe(['allOf'], 'fewer conditions must hold')]
}

const REST_SCHEMAS =
  'not if then else contains propertyNames unevaluatedItems unevaluatedProperties contentSchema'.split(' ')
const REST_DATA = 'minContains maxContains dependentRequired dependentSchemas $dynamicRef $ref'.split(' ')

/**
 * Rarely used keywords that are hard to compare: removed is safe, equal is equal, any other change cannot be shown to
 * be safe.
 */
function compareTheRest({ compare }: Comparison, before: JsonObject, after: JsonObject): SchemaChange[] {
  return [...REST_SCHEMAS, ...REST_DATA].flatMap((keyword) => {
    const [was, is] = [before[keyword], after[keyword]]
    if (is === undefined) return was === undefined ? [] : [safe([keyword], `"${keyword}" no longer restricts it`)]
    if (was === undefined) return [breaking([keyword], `"${keyword}" now restricts it`)]
    const equal = REST_SCHEMAS.includes(keyword)
      ? compare(was, is).length === 0
      : canonicalJson(was) === canonicalJson(is)
    return equal ? [] : [unprovable([keyword])]
  })
}
