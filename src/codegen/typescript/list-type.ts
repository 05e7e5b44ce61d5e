/** The TypeScript type of an array: a list, or a tuple if the schema names its first members. */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { inBrackets, union } from './combine.ts'

/** The members of a longer tuple are not listed: they would be as hard to read as to write. */
const MOST_MEMBERS = 100

export function listType(schema: JsonObject, typeOf: (held: JsonValue) => string): string {
  // Older dialects have the first members in `items`.
  const isOlder = Array.isArray(schema.items)
  const first = isOlder ? (schema.items as JsonValue[]) : Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const further = (isOlder ? schema.additionalItems : schema.items) ?? schema.unevaluatedItems ?? true
  if (schema.maxItems === 0) return '[]'
  const rest = typeOf(further)
  if (first.length === 0) return rest === 'never' ? '[]' : `${inBrackets(rest)}[]`
  const members = first.map((member) => typeOf(member))
  if (first.length > MOST_MEMBERS) return `${inBrackets(union([...members, rest]))}[]`
  const least = typeof schema.minItems === 'number' ? schema.minItems : 0
  const listed = members.map((member, at) => (at < least ? member : `${inBrackets(member)}?`))
  const most = typeof schema.maxItems === 'number' ? schema.maxItems : Number.POSITIVE_INFINITY
  const isClosed = rest === 'never' || most <= first.length
  return `[${[...listed.slice(0, most), ...(isClosed ? [] : [`...${inBrackets(rest)}[]`])].join(', ')}]`
}
