/** Reads the body of a request, which contains only the arguments. */

import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Exchange } from '../../core/ports/exchange.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { isUnread } from './faults.ts'
import type { ValidationFailure } from './wire.ts'

/** Invalid UTF-8 is also not JSON. */
const NOT_JSON = ['INVALID_JSON', 'INVALID_UTF8']

/**
 * For `/call`: a body that is not JSON, `null` and an empty body count as no arguments (docs/readings.md#rest-2 and
 * #rest-3). Ambiguous JSON, such as a duplicate key, is refused.
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

/** The depth check runs before the text is known to be JSON. V8's `JSON.parse` does not recurse, so it is safe here. */
function isDeepNonsense({ code }: Fault, text: string): boolean {
  if (code !== 'TOO_DEEP') return false
  try {
    JSON.parse(text)
    return false
  } catch (thrown) {
    return thrown instanceof SyntaxError
  }
}

/** For `/validate`: returns the arguments, or the problem with the body. */
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
 * docs/readings.md#rest-8. Without a preflight, a page of another site can only send a form, and a form cannot have the
 * JSON content type. So requests with that content type pass.
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
