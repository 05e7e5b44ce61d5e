/**
 * Turns a JSON Schema with references of any kind into flat ones: the root, and a named definition for each schema that
 * is referred to. Generators of code understand only such references.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'
import { FreeNames } from '../free-names.ts'
import { cutCircles, type Reference } from './circles.ts'
import { baseOf, NO_BASE, pointerOf, References, type Target } from './references.ts'
import { DEFINITIONS, mapSubschemas } from './subschemas.ts'

export interface FlatSchema {
  readonly root: JsonSchema
  /**
   * By name, in the order in which the schema refers to them. A boolean schema is `{}` or `{ not: {} }`. The root is the
   * definition '' if the schema refers to it.
   */
  readonly definitions: ReadonlyMap<string, JsonSchema>
}

const LEFT_OUT = new Set([
  ...DEFINITIONS,
  ...'$schema $id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment'.split(' '),
])
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef']

/** `place` gives the text of `$ref` for the name of a definition: '' is the root. */
export function flatten(schema: JsonSchema, place: (name: string) => string): FlatSchema {
  const references = new References(schema)
  const names = new Map([['', '']])
  const free = new FreeNames()
  const waiting: { name: string; target: Target }[] = []
  const found: Reference[] = []

  const nameFor = (target: Target): string => {
    const pointer = pointerOf(target.path)
    const known = names.get(pointer)
    if (known !== undefined) return known
    const name = free.take(nameOf(target.path))
    names.set(pointer, name)
    waiting.push({ name, target })
    return name
  }

  const rewrite = (value: JsonValue, base: string, from: string, sameValue: boolean): JsonValue => {
    if (!isJsonObject(value)) return value
    const inner = baseOf(value, base)
    const plain = Object.fromEntries(
      Object.entries(value).filter(([keyword]) => !LEFT_OUT.has(keyword) && !REFERENCES.includes(keyword)),
    )
    const copy = mapSubschemas(plain, (held, _at, same) => rewrite(held, inner, from, sameValue && same))
    const targets = REFERENCES.flatMap((keyword) => {
      const reference = value[keyword]
      return (typeof reference === 'string' && references.resolve(reference, inner)) || []
    })
    const [first, ...further] = targets.map((target) => nameFor(target))
    if (first === undefined) return copy
    const holders = [copy, ...further.map((): JsonObject => ({}))]
    for (const [index, to] of [first, ...further].entries()) {
      const holder = holders[index] as JsonObject
      holder.$ref = place(to)
      found.push({ from, to, sameValue, holder })
    }
    if (holders.length > 1) copy.allOf = [...(Array.isArray(copy.allOf) ? copy.allOf : []), ...holders.slice(1)]
    return copy
  }

  const root = rewrite(schema, NO_BASE, '', true) as JsonSchema
  const definitions = new Map<string, JsonSchema>()
  // The list grows while definitions refer to others.
  for (const { name, target } of waiting) {
    const flat = rewrite(target.schema, target.base, name, true)
    definitions.set(name, isJsonObject(flat) ? flat : flat === false ? { not: {} } : {})
  }
  cutCircles(found)
  if (found.some(({ to }) => to === '')) definitions.set('', root)
  return { root, definitions }
}

function nameOf(path: readonly string[]): string {
  const last = path.at(-1) ?? ''
  return (/^\d+$/.test(last) ? `${path.at(-2) ?? ''}${last}` : last) || 'definition'
}
