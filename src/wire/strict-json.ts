/**
 * JSON text from outside, made a value with care: bounded depth, no key twice, no broken Unicode. What is refused here
 * would otherwise mean different things to different readers, or end in a stack overflow far from its cause.
 */
import { Fault } from '../core/fault.ts'
import type { JsonObject, JsonValue } from '../core/json.ts'

const MAX_DEPTH = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

export function parseJsonText(text: string): JsonValue {
  const keysInText = scan(text)
  let value: JsonValue
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Fault('malformed', 'The body is not JSON. Send one JSON object, in UTF-8.', {
      code: 'INVALID_JSON',
      cause,
    })
  }
  if (countIn(value) !== keysInText) {
    throw new Fault('malformed', 'An object in the body has the same key twice. Send each key once.', {
      code: 'DUPLICATE_KEY',
    })
  }
  // Only an escape can smuggle in half of a surrogate pair: the text itself is UTF-8.
  if (text.includes('\\u') && !isWellFormed(value)) {
    throw new Fault('malformed', 'A string in the body is not valid Unicode: it holds a lone surrogate.', {
      code: 'INVALID_UNICODE',
    })
  }
  return value
}

/** Counts keys and bounds nesting in one pass over the text, so that nothing recursive ever sees deep input. */
function scan(text: string): number {
  let depth = 0
  let keys = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COLON) keys++
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_DEPTH) {
        throw new Fault('malformed', `The body nests more than ${MAX_DEPTH} levels deep. Send a flatter one.`, {
          code: 'TOO_DEEP',
        })
      }
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return keys
}

/** The texts of an envelope are short: looking at each character takes less than asking `indexOf` for the next quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return at
}

/** The keys in a value, which must have no number that was too large. */
function countIn(value: JsonValue): number {
  if (typeof value === 'object') return value === null ? 0 : countKeys(value)
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) throw tooLarge()
  return 0
}

function countKeys(value: JsonValue[] | JsonObject): number {
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countIn(item)
    return count
  }
  // Not `Object.keys`: what JSON.parse makes inherits nothing that could be seen here, and no list has to be made.
  for (const key in value) count += 1 + countIn(value[key] as JsonValue)
  return count
}

function isWellFormed(value: JsonValue): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.keys(value).every((key) => key.isWellFormed() && isWellFormed(value[key] as JsonValue))
}

/** JSON.parse makes 1e309 infinite, and infinity would be stored as null: another call than the one that was sent. */
function tooLarge(): Fault {
  return new Fault('malformed', 'A number in the body is too large to be kept as it is. Send it as a string.', {
    code: 'NUMBER_TOO_LARGE',
  })
}
