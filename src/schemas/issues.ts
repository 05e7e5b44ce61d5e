/**
 * Issues of a value, by place, and the faults made from them. Messages name places and rules. They contain no text that
 * the caller sent, because faults are stored and logged.
 */
import { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import { encodePointer } from '../core/json-pointer.ts'
import type { StandardIssue } from '../core/operation/schema.ts'

export interface Issue {
  /** JSON Pointer (RFC 6901) into the value; empty for the value itself. */
  path: string
  message: string
  /** The violated JSON Schema keyword, if there is one. */
  keyword?: string
}

/** The result of a validator: the parsed value, or the issues. */
export type Verdict = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

export type Validate = (value: unknown) => Verdict | Promise<Verdict>

/** The issue of a value whose check was stopped. `keyword` is not a JSON Schema keyword. */
export const costlyIssue: Issue = {
  path: '',
  message: 'takes too long to check: send fewer parts, less nesting or shorter texts',
  keyword: 'cost',
}

export const MAX_ISSUES = 20
const ISSUES_IN_MESSAGE = 3
const MAX_PATH_CHARS = 300
const MAX_MESSAGE_CHARS = 300

export function invalidInput(operation: string, issues: readonly Issue[]): Fault {
  return new Fault('invalid-input', `Correct the arguments of ${operation}: ${sentence(issues)}.`, {
    code: 'VALIDATION_ERROR',
    details: detailsOf(issues),
  })
}

export function costlyInput(operation: string): Fault {
  return new Fault(
    'invalid-input',
    `The arguments of ${operation} take too long to check. Send fewer parts, less nesting or shorter texts.`,
    {
      code: 'VALIDATION_TOO_COSTLY',
      details: detailsOf([costlyIssue]),
    },
  )
}

export function costlyResult(operation: string): Fault {
  return new Fault(
    'internal',
    `${operation} returned a result that takes too long to check. Fix its result schema or its handler.`,
    {
      code: 'RESULT_TOO_COSTLY',
      details: detailsOf([costlyIssue]),
    },
  )
}

export function invalidResult(operation: string, issues: readonly Issue[]): Fault {
  return new Fault(
    'internal',
    `${operation} returned a result that does not match its schema: ${sentence(issues)}. Fix its handler or its result schema.`,
    { code: 'INVALID_RESULT', details: detailsOf(issues) },
  )
}

export function invalidFrame(operation: string, issues: readonly Issue[]): Fault {
  return new Fault(
    'internal',
    `${operation} sent a frame that does not match its schema: ${sentence(issues)}. Fix its handler or its frame schema.`,
    { code: 'INVALID_FRAME', details: detailsOf(issues) },
  )
}

/** Converts a library's issue; `input` is the validated value. */
export function fromStandardIssue(issue: StandardIssue, input: unknown): Issue {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === 'object' ? segment.key : segment))
  return { path: encodePointer(keys), message: withoutEcho(issue.message, valueAt(input, keys)) }
}

/** Some libraries quote the received value (`received "hunter2"`). */
function withoutEcho(message: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') {
    return message.replaceAll(JSON.stringify(value), 'another text').replaceAll(`"${value}"`, 'another text')
  }
  return typeof value === 'object' && value !== null ? withoutValue(message) : message
}

/**
 * Removes everything from the first bracket to the last. A regular expression would try every bracket of a value that
 * consists of brackets.
 */
function withoutValue(message: string): string {
  const start = message.search(/[{[]/)
  const end = Math.max(message.lastIndexOf('}'), message.lastIndexOf(']'))
  return start < 0 || end < start ? message : `${message.slice(0, start)}another value${message.slice(end + 1)}`
}

function valueAt(input: unknown, keys: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

function sentence(issues: readonly Issue[]): string {
  const shown = issues.slice(0, ISSUES_IN_MESSAGE).map(({ path, message }) => {
    const text = cut(message, MAX_MESSAGE_CHARS).replace(/\.$/, '')
    return path === '' ? text : `${cut(path, MAX_PATH_CHARS)}: ${text}`
  })
  const more = Math.min(issues.length, MAX_ISSUES) - shown.length
  return more > 0 ? `${shown.join('; ')}; and ${more} more` : shown.join('; ')
}

function detailsOf(issues: readonly Issue[]): JsonObject {
  return {
    issues: issues.slice(0, MAX_ISSUES).map(({ path, message, keyword }) => ({
      path: cut(path, MAX_PATH_CHARS),
      message: cut(message, MAX_MESSAGE_CHARS),
      ...(keyword !== undefined && { keyword }),
    })),
  }
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`
}
