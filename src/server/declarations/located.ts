/** JSON values with their position in a file. */
import type { JsonValue } from '../../core/json.ts'
import type { Place } from './problems.ts'

export interface Located {
  readonly value: JsonValue
  readonly place: Place
  /** Number of values, with aliases expanded. */
  readonly size: number
  /** Set for an object. */
  readonly fields?: ReadonlyMap<string, Field>
  /** Set for a list. */
  readonly items?: readonly Located[]
}

export interface Field {
  /** Place of the key. */
  readonly place: Place
  readonly content: Located
}

export type LocatedObject = Located & { readonly fields: ReadonlyMap<string, Field> }

export function isObject(located: Located): located is LocatedObject {
  return located.fields !== undefined
}

/** Returns the place of the value at a path, or of its nearest existing parent. */
export function placeAt(located: Located, path: readonly string[]): Place {
  let place = located.place
  let at: Located | undefined = located
  for (const key of path) {
    at = at.fields?.get(key)?.content ?? at.items?.[Number(key)]
    if (!at) break
    place = at.place
  }
  return place
}

export function describeValue({ value, items }: Located): string {
  if (value === null) return 'nothing'
  if (items) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return 'a string'
  return typeof value === 'boolean' ? String(value) : `the number ${value}`
}
