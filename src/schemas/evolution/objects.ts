/** Compares the fields of an object schema: added, removed, and required ones. */
import { canonicalJson, isJsonObject, type JsonObject } from '../../core/json.ts'
import { below, breaking, type Comparison, listOf, type SchemaChange, safe, unprovable } from './changes.ts'

export function compareObjects(comparison: Comparison, before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [mapOf(before.properties), mapOf(after.properties)]
  const [wasRequired, isRequired] = [namesOf(before.required), namesOf(after.required)]
  const gone = Object.keys(was).filter((name) => !Object.hasOwn(is, name))
  const added = Object.keys(is).filter((name) => !Object.hasOwn(was, name))
  const kept = Object.keys(was).filter((name) => Object.hasOwn(is, name))
  // Names may be required without being listed in `properties`.
  const named = [...wasRequired, ...isRequired].filter((name) => !Object.hasOwn(was, name) && !Object.hasOwn(is, name))
  return [
    ...gone.map((name) =>
      breaking(['properties', name], `field "${name}" was removed${renamed(name, was, is, added)}`),
    ),
    ...added.map((name) => compareAdded(comparison, name, isRequired.has(name) && !wasRequired.has(name))),
    ...[...kept, ...new Set(named)].flatMap((name) =>
      compareRequired(comparison, name, wasRequired.has(name), isRequired.has(name)),
    ),
    ...kept.flatMap((name) => below(['properties', name], comparison.compare(was[name], is[name]))),
    ...below(
      ['additionalProperties'],
      comparison.compare(before.additionalProperties, after.additionalProperties).map(describeAdditional),
    ),
    ...comparePatterns(comparison, mapOf(before.patternProperties), mapOf(after.patternProperties)),
  ]
}

function renamed(name: string, was: JsonObject, is: JsonObject, added: readonly string[]): string {
  const text = canonicalJson(was[name] ?? {})
  const alike = added.filter((other) => canonicalJson(is[other] ?? {}) === text)
  return alike.length === 1 ? ` (or renamed to "${alike[0]}")` : ''
}

function compareAdded({ reader }: Comparison, name: string, required: boolean): SchemaChange {
  const at = ['properties', name]
  if (reader === 'caller') return safe(at, `field "${name}" was added`)
  return required ? breaking(at, `required field "${name}" was added`) : safe(at, `optional field "${name}" was added`)
}

/**
 * "Make an optional field required" breaks senders. In a result it is the reverse: the specification allows any field
 * to be added there, required or not. A field that is now always present is therefore safe. A field that may now be
 * missing counts as removed for its reader.
 */
function compareRequired({ reader }: Comparison, name: string, was: boolean, is: boolean): SchemaChange[] {
  if (was === is) return []
  const message = is ? `optional field "${name}" became required` : `required field "${name}" became optional`
  return [is === (reader === 'server') ? breaking(['required'], message) : safe(['required'], message)]
}

function describeAdditional(change: SchemaChange): SchemaChange {
  return change.at.length === 0 ? { ...change, message: `a field that is not listed ${change.message}` } : change
}

function comparePatterns({ compare }: Comparison, was: JsonObject, is: JsonObject): SchemaChange[] {
  const patterns = new Set([...Object.keys(was), ...Object.keys(is)])
  return [...patterns].flatMap((pattern) =>
    Object.hasOwn(was, pattern) && Object.hasOwn(is, pattern)
      ? below(['patternProperties', pattern], compare(was[pattern], is[pattern]))
      : [unprovable(['patternProperties', pattern])],
  )
}

function mapOf(value: JsonObject[string] | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function namesOf(value: JsonObject[string] | undefined): Set<string> {
  return new Set(listOf(value).map(String))
}
