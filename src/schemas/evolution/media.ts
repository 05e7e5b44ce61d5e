/** Compares the attachments that an operation accepts. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { below, breaking, listOf, type SchemaChange, safe } from './changes.ts'

export function compareMedia(before: readonly JsonValue[], after: readonly JsonValue[]): SchemaChange[] {
  const [was, is] = [byName(before), byName(after)]
  const kept = [...was].flatMap(([name, slot]) => {
    const current = is.get(name)
    return current ? below([name], compareSlots(slot, current)) : [breaking([name], `attachment "${name}" was removed`)]
  })
  const added = [...is].filter(([name]) => !was.has(name))
  return [
    ...kept,
    ...added.map(([name, { required }]) =>
      required === true
        ? breaking([name], `required attachment "${name}" was added`)
        : safe([name], `optional attachment "${name}" was added`),
    ),
  ]
}

function byName(slots: readonly JsonValue[]): Map<string, JsonObject> {
  return new Map(slots.filter(isJsonObject).map((slot) => [String(slot.name), slot]))
}

function compareSlots(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [before.required === true, after.required === true]
  const [oldTypes, newTypes] = [listOf(before.acceptedTypes).map(String), listOf(after.acceptedTypes).map(String)]
  const at = ['acceptedTypes']
  return [
    ...(is && !was ? [breaking(['required'], 'optional attachment became required')] : []),
    ...(was && !is ? [safe(['required'], 'required attachment became optional')] : []),
    ...oldTypes.filter((type) => !covers(newTypes, type)).map((type) => breaking(at, `${type} is no longer accepted`)),
    ...newTypes.filter((type) => !covers(oldTypes, type)).map((type) => safe(at, `${type} is now accepted`)),
    ...compareSize(before.maxBytes, after.maxBytes),
  ]
}

function covers(accepted: readonly string[], type: string): boolean {
  return accepted.some((pattern) => {
    if (pattern === type || pattern === '*/*') return true
    return pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1))
  })
}

function compareSize(before: JsonValue | undefined, after: JsonValue | undefined): SchemaChange[] {
  const [was, is] = [before, after].map((bytes) => (typeof bytes === 'number' ? bytes : Number.POSITIVE_INFINITY)) as [
    number,
    number,
  ]
  if (was === is) return []
  const message = `maxBytes %s from ${was} to ${is}`
  return is < was
    ? [breaking(['maxBytes'], message.replace('%s', 'lowered'))]
    : [safe(['maxBytes'], message.replace('%s', 'raised'))]
}
