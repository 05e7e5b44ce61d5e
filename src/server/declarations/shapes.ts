/** What a value of a declaration may look like, and the sentence that says so where it does not. */
import { Fault } from '../../core/fault.ts'
import { nearest } from '../../core/nearest.ts'
import { describeValue, isObject, type Located, type LocatedObject } from './located.ts'
import type { Problems } from './problems.ts'
import { quoted } from './read.ts'

/** Reports what is wrong with a value; `path` is how people call it: `retry.attempts`. */
export type Shape = (given: Located, path: string, problems: Problems) => void

export type Fields = Readonly<Record<string, Shape>>

function expecting(what: string, isGood: (value: unknown) => boolean): Shape {
  return (given, path, problems) => {
    if (!isGood(given.value)) problems.add(given.place, `${path} must be ${what}, not ${describeValue(given)}.`)
  }
}

export const flag = expecting('true or false', (value) => typeof value === 'boolean')

export const whole = expecting(
  'a whole number of 1 or more',
  (value) => Number.isSafeInteger(value) && Number(value) >= 1,
)

export const wholeOrZero = expecting(
  'a whole number of 0 or more',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
)

/** `version: 1.0` is a number in YAML, and `title: true` is no text either. */
export const text: Shape = (given, path, problems) => {
  if (typeof given.value === 'string' && given.value.trim() !== '') return
  const advice = typeof given.value === 'number' || typeof given.value === 'boolean' ? ' Put it in quotes.' : ''
  const said = given.value === '' ? 'an empty one' : describeValue(given)
  problems.add(given.place, `${path} must be a text, not ${said}.${advice}`)
}

/** Its content has rules of its own. */
export const object = expecting(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

export function oneOf(...words: readonly string[]): Shape {
  return (given, path, problems) => {
    const { value, place } = given
    if (typeof value === 'string' && words.includes(value)) return
    const said = typeof value === 'string' ? quoted(value) : describeValue(given)
    problems.add(place, `${path} is ${said}. Write ${listed(words)}.${guess(value, words)}`)
  }
}

export function listOf(shape: Shape): Shape {
  return (given, path, problems) => {
    if (!given.items) problems.add(given.place, `${path} must be a list, not ${describeValue(given)}.`)
    for (const [index, item] of given.items?.entries() ?? []) shape(item, `${path}[${index}]`, problems)
  }
}

/** A text that a function of core understands or refuses. */
export function parsed(parse: (value: string) => unknown): Shape {
  return (given, path, problems) => {
    if (typeof given.value !== 'string') {
      text(given, path, problems)
      return
    }
    try {
      parse(given.value)
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      problems.add(given.place, `${path}: ${thrown.message}`)
    }
  }
}

export interface FieldRules {
  /** What must be there, with what to write. */
  required?: Readonly<Record<string, string>>
  /** Why a name that is no field is none, where there is more to say than a list of those there are. */
  advice?: (name: string) => string | undefined
}

export function record(fields: Fields, rules: FieldRules = {}): Shape {
  return (given, path, problems) => {
    if (isObject(given)) checkFields(given, path, fields, rules, problems)
    else problems.add(given.place, `${path} must be an object, not ${describeValue(given)}.`)
  }
}

/** `path` is empty for the declaration itself. */
export function checkFields(
  given: LocatedObject,
  path: string,
  fields: Fields,
  { required = {}, advice }: FieldRules,
  problems: Problems,
): void {
  const inner = (name: string) => (path === '' ? name : `${path}.${name}`)
  for (const [name, { place, content }] of given.fields) {
    const shape = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (shape) shape(content, inner(name), problems)
    else problems.add(place, advice?.(name) ?? unknownField(inner(name), name, Object.keys(fields)))
  }
  for (const [name, fix] of Object.entries(required)) {
    if (!given.fields.has(name)) problems.add(given.place, `${inner(name)} is missing. ${fix}`)
  }
}

function unknownField(path: string, name: string, names: readonly string[]): string {
  const hint = guess(name, names)
  return `There is no field ${quoted(path)}.${hint === '' ? ` There are ${names.join(', ')}.` : hint}`
}

/** Nobody means a name by a text much longer than it. */
export function guess(typed: unknown, names: readonly string[]): string {
  if (typeof typed !== 'string' || typed.length > 60) return ''
  const [close] = nearest(typed, names, 1)
  return close === undefined ? '' : ` Did you mean "${close}"?`
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
