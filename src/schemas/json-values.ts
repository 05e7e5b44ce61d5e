/** Checks that JSON can represent a value, and finds keys that JavaScript treats specially. */

import { encodePointer } from '../core/json-pointer.ts'
import type { Issue } from './issues.ts'

const MAX_DEPTH = 500

interface Found {
  /** Innermost key first: filled while the search returns, so that a valid value builds no path. */
  readonly keys: (string | number)[]
  readonly message: string
}

/**
 * Returns the first place of a result that JSON cannot represent. Members that are `undefined` are allowed, because
 * JSON.stringify omits them, as a reader of `{ a?: string }` expects.
 */
export function findNonJson(value: unknown): Issue | undefined {
  return toIssue(searchNonJson(value, 0))
}

/**
 * Returns the first own key called `__proto__`. JSON.parse creates such keys, and code that copies the object by
 * assignment then replaces the copy's prototype. `constructor` and `prototype` are ordinary words and harmless as own
 * keys.
 */
export function findReservedKey(value: unknown): Issue | undefined {
  return toIssue(searchReservedKey(value))
}

function searchNonJson(value: unknown, depth: number): Found | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : found(`is ${value}, which JSON cannot represent; return null or a string`)
    case 'object':
      break
    default:
      return found(`is ${value === undefined ? 'undefined' : `a ${typeof value}`}, which JSON cannot hold`)
  }
  if (value === null) return undefined
  if (depth > MAX_DEPTH) return found(`is nested more than ${MAX_DEPTH} levels deep, or contains itself`)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inner = searchNonJson(value[index], depth + 1)
      if (inner) return below(inner, index)
    }
    return undefined
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null && !isRecord(value)) return found(describeObject(value))
  // A list of the keys would take half the time of this search.
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    if (member === undefined) continue
    const inner = searchNonJson(member, depth + 1)
    // JSON.stringify ignores inherited members.
    if (inner && Object.hasOwn(value, key)) return below(inner, key)
  }
  return undefined
}

/**
 * True for an instance of a class with fields only, as database drivers return rows. False for a Map or a typed array.
 */
function isRecord(value: object): boolean {
  return (
    Object.prototype.toString.call(value) === '[object Object]' &&
    typeof (value as { toJSON?: unknown }).toJSON !== 'function'
  )
}

function describeObject(value: object): string {
  const name = value.constructor?.name || 'special object'
  const advice =
    value instanceof Date ? 'return its toISOString()' : 'return plain objects, arrays, strings and numbers'
  return `is a ${name}, which JSON cannot hold; ${advice}`
}

function searchReservedKey(value: unknown): Found | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inner = searchReservedKey(value[index])
      if (inner) return below(inner, index)
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return below(found('is a reserved name; use another one'), key)
    const inner = searchReservedKey((value as Record<string, unknown>)[key])
    if (inner) return below(inner, key)
  }
  return undefined
}

function found(message: string): Found {
  return { keys: [], message }
}

function below(inner: Found, key: string | number): Found {
  inner.keys.push(key)
  return inner
}

function toIssue(place: Found | undefined): Issue | undefined {
  return place && { path: encodePointer(place.keys.reverse()), message: place.message }
}
