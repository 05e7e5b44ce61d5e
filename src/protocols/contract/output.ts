/**
 * Converts an operation's result to a response's `output` and back.
 * docs/adapters/protocols/tool-contract.md, "Answers".
 */

import { Fault } from '../../core/fault.ts'
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { parseJsonText } from '../../wire/strict-json.ts'

/**
 * Clients whose types have only the string `result` read that string. Other clients read the object's fields. A field
 * whose name equals `result` in another case is only in the string: Go matches field names without regard to case and
 * would read that field instead of the string.
 */
export function encodeOutput(result: JsonValue | undefined): JsonObject {
  if (!isJsonObject(result)) return { result: typeof result === 'string' ? result : JSON.stringify(result ?? null) }
  const output: JsonObject = { ...result, result: JSON.stringify(result) }
  for (const name in output) if (name !== 'result' && LIKE_RESULT.test(name)) delete output[name]
  return output
}

const LIKE_RESULT = /^result$/iu

/** Returns the original object if `result` is its JSON text. Returns any other output unchanged. */
export function decodeOutput(output: JsonObject): JsonObject {
  const whole = typeof output.result === 'string' ? parseObject(output.result) : undefined
  return whole && canonicalJson(encodeOutput(whole)) === canonicalJson(output) ? whole : output
}

function parseObject(text: string): JsonObject | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const value = parseJsonText(text)
    return isJsonObject(value) ? value : undefined
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined
    throw thrown
  }
}
