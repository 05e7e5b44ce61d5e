/**
 * Compares two JSON Schemas of the same thing. What can be shown to allow at least what it allowed is safe; what
 * cannot be shown is reported as breaking and says so, since a wrong "safe" costs a caller and a wrong "breaking"
 * costs a look.
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

/** Keeps a schema in which everything differs, and which is shared many times, from growing the list without end. */
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
    // Meeting the same pair again inside itself adds nothing: what differs is found on the first round.
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
    return [was ? safe([], 'is allowed now') : breaking([], 'is not allowed any more')]
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
  // A place that one of them does not list is ruled by its `items`.
  const places = Array.from({ length }, (_, index) =>
    below(['prefixItems', String(index)], compare(was[index] ?? before.items, is[index] ?? after.items)),
  )
  return [...places.flat(), ...below(['items'], compare(before.items, after.items))]
}

/** Every part of `allOf` must hold: a further part tightens, a missing one relaxes. */
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

/** What is rarely used and hard to reason about: gone is safe, equal is equal, anything else is beyond telling. */
function compareTheRest({ compare }: Comparison, before: JsonObject, after: JsonObject): SchemaChange[] {
  return [...REST_SCHEMAS, ...REST_DATA].flatMap((keyword) => {
    const [was, is] = [before[keyword], after[keyword]]
    if (is === undefined) return was === undefined ? [] : [safe([keyword], `"${keyword}" no longer limits it`)]
    if (was === undefined) return [breaking([keyword], `"${keyword}" limits it now`)]
    const equal = REST_SCHEMAS.includes(keyword)
      ? compare(was, is).length === 0
      : canonicalJson(was) === canonicalJson(is)
    return equal ? [] : [unprovable([keyword])]
  })
}
