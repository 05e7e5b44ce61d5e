/** The assertions of the cases, independent of a test runner. */
import { isDeepStrictEqual } from 'node:util'
import { Unmet, type UnmetDetails } from './case.ts'

type Complaint = string | (() => string)

export function must(condition: boolean, complaint: Complaint, details?: UnmetDetails): asserts condition {
  if (!condition) throw new Unmet(typeof complaint === 'string' ? complaint : complaint(), details)
}

/**
 * For what the specification only recommends. Call it after the case's `must` checks, because a failure ends the case.
 */
export function should(condition: boolean, complaint: Complaint): asserts condition {
  must(condition, complaint, { level: 'should' })
}

/** For what the specification leaves open. Call it last. */
export function ideally(condition: boolean, complaint: Complaint): asserts condition {
  must(condition, complaint, { level: 'may' })
}

export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  must(isDeepStrictEqual(actual, expected), () => `${what} is ${shown(actual)}, not ${shown(expected)}.`)
}

export function shouldEqual(actual: unknown, expected: unknown, what: string): void {
  should(isDeepStrictEqual(actual, expected), () => `${what} is ${shown(actual)}, not ${shown(expected)}.`)
}

export function mustBeOneOf(actual: unknown, allowed: readonly unknown[], what: string): void {
  must(allowed.includes(actual), () => `${what} is ${shown(actual)}, not one of ${allowed.map(shown).join(', ')}.`)
}

export type JsonMembers = Record<string, unknown>

export function mustBeObject(value: unknown, what: string): JsonMembers {
  must(isMembers(value), () => `${what} is ${shown(value)}, not a JSON object.`)
  return value
}

export function mustBeText(value: unknown, what: string): string {
  must(typeof value === 'string' && value.trim() !== '', () => `${what} is ${shown(value)}, not a text.`)
  return value
}

/** OpenCALL's times are whole seconds since 1970. The bounds detect milliseconds. */
export function mustBeEpochSeconds(value: unknown, what: string): number {
  must(
    Number.isInteger(value) && (value as number) > 1e9 && (value as number) < 1e11,
    () => `${what} is ${shown(value)}, not an integer of Unix epoch seconds.`,
  )
  return value as number
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function mustBeUuid(value: unknown, what: string): void {
  must(typeof value === 'string' && UUID.test(value), () => `${what} is ${shown(value)}, not a UUID.`)
}

export function isMembers(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
