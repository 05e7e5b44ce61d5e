/** The first text of a value: what a person gets with "Add", and the arguments of a fresh call. */
import { readField } from './field.ts'
import type { FormModel, Place } from './model.ts'

/** Deeper required objects are opened by hand: a recursive schema has no end. */
const MAX_DEPTH = 8

/**
 * The value with constants in place, and with the objects that are required. Nothing else is filled in: defaults and
 * examples are sent only if a person takes them.
 */
export function startText(model: FormModel, place: Place): string {
  return start(model.withPicks(new Map()), place, 0)
}

function start(model: FormModel, place: Place, depth: number): string {
  const field = readField(model, model.apply(place, undefined, []))
  if (field.constant !== undefined) return field.constant
  if (field.options?.[0]) return field.options[0].text
  switch (field.kinds[0]) {
    case 'object':
      return startObject(model, place, depth)
    case 'array':
      return '[]'
    case 'string':
      return '""'
    case 'number':
    case 'integer':
      return '0'
    case 'boolean':
      return 'false'
    default:
      return field.properties.length > 0 ? startObject(model, place, depth) : 'null'
  }
}

function startObject(model: FormModel, place: Place, depth: number): string {
  const applied = model.apply(place, undefined, [])
  const members: string[] = []
  for (const { name, required } of readField(model, applied).properties) {
    if (!required || depth >= MAX_DEPTH) continue
    const inner = model.propertyPlace(applied, name)
    const field = readField(model, model.apply(inner, undefined, []))
    const isObject = field.kinds.length === 1 && field.kinds[0] === 'object' && !field.nullable
    if (field.constant !== undefined || isObject) {
      members.push(`${JSON.stringify(name)}: ${start(model, inner, depth + 1)}`)
    }
  }
  return `{${members.join(', ')}}`
}
