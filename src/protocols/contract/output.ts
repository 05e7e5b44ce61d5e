/** `output` of an answer, from the result of an operation and back. docs/adapters/protocols/tool-contract.md, "Answers". */

import { Fault } from '../../core/fault.ts'
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { parseJsonText } from '../../wire/strict-json.ts'

/**
 * Readers whose types have no other field take the text `result`; others take the fields of an object. An own field of
 * the object that is spelt like `result` is in the text only: Go matches names without regard to case, and would take
 * its value for the text.
 */
export function encodeOutput(result: JsonValue | undefined): JsonObject {
  if (!isJsonObject(result)) return { result: typeof result === 'string' ? result : JSON.stringify(result ?? null) }
  const output: JsonObject = { ...result, result: JSON.stringify(result) }
  for (const name in output) if (name !== 'result' && LIKE_RESULT.test(name)) delete output[name]
  return output
}

const LIKE_RESULT = /^result$/iu

/** The object itself where `result` is its text; anything else as it is. */
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
