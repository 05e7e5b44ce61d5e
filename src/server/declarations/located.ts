/** JSON values that know where in a file they stand. */
import type { JsonValue } from '../../core/json.ts'
import type { Place } from './problems.ts'

export interface Located {
  readonly value: JsonValue
  readonly place: Place
  /** How many values it is made of once aliases are written out. */
  readonly size: number
  /** The members of an object. */
  readonly fields?: ReadonlyMap<string, Field>
  /** The items of a list. */
  readonly items?: readonly Located[]
}

export interface Field {
  /** Of its key. */
  readonly place: Place
  readonly content: Located
}

export type LocatedObject = Located & { readonly fields: ReadonlyMap<string, Field> }

export function isObject(located: Located): located is LocatedObject {
  return located.fields !== undefined
}

/** The place of what a path leads to, or of the nearest thing around it that is there. */
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
  if (typeof value === 'string') return 'a text'
  return typeof value === 'boolean' ? String(value) : `the number ${value}`
}
