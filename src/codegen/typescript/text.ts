/** Texts of a registry as TypeScript: keys, literals and comments. Nothing from outside can end one of them early. */
import { isJsonObject, type JsonValue } from '../../core/json.ts'

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

export function keyText(key: string): string {
  // In quotes, `__proto__` is a name like any other.
  return IDENTIFIER.test(key) && key !== '__proto__' ? key : stringText(key)
}

/** Line separators are allowed in strings, but editors show them as line breaks. */
export function stringText(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1)
  const single = inner.replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${single.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`
}

/** The type of one value. */
export function literalText(value: JsonValue): string {
  if (typeof value === 'string') return stringText(value)
  if (Array.isArray(value)) return `[${value.map(literalText).join(', ')}]`
  if (!isJsonObject(value)) return String(value)
  const members = Object.entries(value).map(([key, member]) => `${keyText(key)}: ${literalText(member)}`)
  return members.length === 0 ? 'Record<string, never>' : `{ ${members.join('; ')} }`
}

/** A comment for editors, with a line break at its end. Empty if there is nothing to say. */
export function commentText(lines: readonly string[], indent: string): string {
  const safe = lines
    .flatMap((line) => line.split(/\r\n|[\n\r\u2028\u2029]/))
    .map((line) => line.replaceAll('*/', '*\\/').trimEnd())
  if (safe.every((line) => line === '')) return ''
  if (safe.length === 1) return `${indent}/** ${safe[0]} */\n`
  return `${indent}/**\n${safe.map((line) => `${indent} *${line && ` ${line}`}\n`).join('')}${indent} */\n`
}
