/** The body of a request, which is the arguments and nothing else. */

import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Exchange } from '../../core/ports/exchange.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { isUnread } from './faults.ts'
import type { ValidationFailure } from './wire.ts'

/** Bytes that are not text are not JSON either. */
const NOT_JSON = ['INVALID_JSON', 'INVALID_UTF8']

/**
 * For `/call`: a body that is not JSON, `null` and an empty body count as no arguments (docs/readings.md#rest-2 and
 * #rest-3). Ambiguous JSON, such as a key twice, is refused all the same.
 */
export function readCallArguments(exchange: Exchange, maxBytes: number): JsonValue | Promise<JsonValue> {
  try {
    const text = exchange.text(maxBytes)
    return text instanceof Promise ? text.then(argumentsIn, noArguments) : argumentsIn(text)
  } catch (thrown) {
    return noArguments(thrown)
  }
}

function argumentsIn(text: string): JsonValue {
  if (text === '') return {}
  try {
    return parseJsonText(text) ?? {}
  } catch (thrown) {
    if (thrown instanceof Fault && isDeepNonsense(thrown, text)) return {}
    return noArguments(thrown)
  }
}

function noArguments(thrown: unknown): JsonObject {
  if (thrown instanceof Fault && NOT_JSON.includes(thrown.code)) return {}
  throw thrown
}

/** Depth is refused before anybody knows whether the text is JSON; V8 parses without recursion, so that it can be asked. */
function isDeepNonsense({ code }: Fault, text: string): boolean {
  if (code !== 'TOO_DEEP') return false
  try {
    JSON.parse(text)
    return false
  } catch (thrown) {
    return thrown instanceof SyntaxError
  }
}

/** For `/validate`: the arguments, or what is wrong with the body they should be in. */
export async function readValidateArguments(
  exchange: Exchange,
  maxBytes: number,
): Promise<{ args: JsonObject } | { failure: ValidationFailure }> {
  let value: JsonValue
  try {
    value = parseJsonText(await exchange.text(maxBytes))
  } catch (thrown) {
    if (!(thrown instanceof Fault) || isUnread(thrown)) throw thrown
    return { failure: invalidJson(thrown.cause instanceof SyntaxError ? thrown.cause.message : thrown.message) }
  }
  if (isJsonObject(value)) return { args: value }
  return { failure: invalidJson('the arguments must be an object') }
}

function invalidJson(detail: string): ValidationFailure {
  return { path: '', message: `Invalid JSON: ${detail}`, keyword: 'format' }
}

/**
 * docs/readings.md#rest-8. A form is all that a page of another site can send without asking first, and a form cannot
 * have the content type of JSON. So requests with that content type pass.
 */
export function isForeignForm(exchange: Exchange): boolean {
  if (/^application\/json\s*(?:;|$)/i.test(exchange.header('content-type') ?? '')) return false
  const origin = exchange.header('origin')
  if (origin === undefined) return exchange.header('sec-fetch-site') === 'cross-site'
  const host = /^https?:\/\/(.+)$/i.exec(origin)?.[1]?.toLowerCase()
  return host === undefined || (host !== exchange.header('host')?.toLowerCase() && host !== hostIn(exchange.origin))
}

function hostIn(url: string): string | undefined {
  return /^https?:\/\/([^/]+)/i.exec(url)?.[1]?.toLowerCase()
}
