/** Equality of JSON values as the standard has it: the order of properties and the way to write a number do not count. */
import { decodeString, type JsonNode } from '../text/nodes.ts'
import { normalNumber } from '../text/numbers.ts'

/** Equal values have equal texts. */
export function canonicalNode(node: JsonNode): string {
  switch (node.kind) {
    case 'object': {
      const byKey = new Map(node.members.map(({ key, value }) => [key, value ? canonicalNode(value) : 'null']))
      return canonicalObject([...byKey])
    }
    case 'array':
      return `[${node.items.map(canonicalNode).join()}]`
    case 'string':
      return JSON.stringify(decodeString(node.raw))
    case 'number':
      return normalNumber(node.raw)
    default:
      return node.raw
  }
}

/** The same for a value in a schema. */
export function canonicalValue(value: unknown): string {
  if (typeof value === 'number') return normalNumber(String(value).replace('e+', 'e'))
  if (Array.isArray(value)) return `[${value.map(canonicalValue).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  return canonicalObject(Object.entries(value).map(([key, inner]) => [key, canonicalValue(inner)]))
}

function canonicalObject(entries: [string, string][]): string {
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${sorted.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join()}}`
}
