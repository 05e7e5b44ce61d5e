/** The shapes that a declaration's values may have, with the message for each mismatch. */
import { Fault } from '../../core/fault.ts'
import { nearest } from '../../core/nearest.ts'
import { describeValue, isObject, type Located, type LocatedObject } from './located.ts'
import type { Problems } from './problems.ts'
import { quoted } from './read.ts'

/** Reports the problems of a value. `path` is its name for people: `retry.attempts`. */
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

/** `version: 1.0` is a number in YAML, and `title: true` is a boolean. */
export const text: Shape = (given, path, problems) => {
  if (typeof given.value === 'string' && given.value.trim() !== '') return
  const advice = typeof given.value === 'number' || typeof given.value === 'boolean' ? ' Put it in quotes.' : ''
  const said = given.value === '' ? 'an empty one' : describeValue(given)
  problems.add(given.place, `${path} must be a string, not ${said}.${advice}`)
}

/** Its content is checked elsewhere. */
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

/** An object whose keys the author chooses. */
export function mapOf(shape: Shape): Shape {
  return (given, path, problems) => {
    if (!isObject(given)) problems.add(given.place, `${path} must be an object, not ${describeValue(given)}.`)
    else for (const [name, { content }] of given.fields) shape(content, `${path}.${name}`, problems)
  }
}

/** A string that a parser of core accepts or refuses. */
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
  /** Required fields, each with advice on what to write. */
  required?: Readonly<Record<string, string>>
  /** Advice for an unknown field, if there is more to say than the list of known fields. */
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

/** A text much longer than any name is not a typo of one. */
export function guess(typed: unknown, names: readonly string[]): string {
  if (typeof typed !== 'string' || typed.length > 60) return ''
  const [close] = nearest(typed, names, 1)
  return close === undefined ? '' : ` Did you mean "${close}"?`
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
