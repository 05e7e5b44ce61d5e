/** Writes nodes as indented JSON. Strings and numbers keep their source. */
import type { JsonNode } from './nodes.ts'
import { parseText } from './parse.ts'

export const DEFAULT_INDENT = '  '

/** Indents the text of one value; lines after the first start with `base`. Text that is not JSON stays as it is. */
export function indentText(text: string, unit: string, base = ''): string {
  const { root, mistakes } = parseText(text)
  return root && mistakes.length === 0 ? print(text, root, unit, base) : text
}

/** The text of a value on one line, without spaces. */
export function compactText(text: string): string {
  const { root, mistakes } = parseText(text)
  return root && mistakes.length === 0 ? compact(text, root) : text
}

function print(text: string, node: JsonNode, unit: string, base: string): string {
  const inner = base + unit
  if (node.kind === 'object') {
    if (node.members.length === 0) return '{}'
    const lines = node.members.map(
      ({ keyStart, keyEnd, value }) =>
        `${text.slice(keyStart, keyEnd)}: ${value ? print(text, value, unit, inner) : 'null'}`,
    )
    return `{\n${inner}${lines.join(`,\n${inner}`)}\n${base}}`
  }
  if (node.kind !== 'array') return node.raw
  if (node.items.length === 0) return '[]'
  if (node.items.every((item) => item.kind === 'number' || item.kind === 'boolean' || item.kind === 'null')) {
    return `[${node.items.map((item) => text.slice(item.start, item.end)).join(', ')}]`
  }
  return `[\n${inner}${node.items.map((item) => print(text, item, unit, inner)).join(`,\n${inner}`)}\n${base}]`
}

function compact(text: string, node: JsonNode): string {
  if (node.kind === 'array') return `[${node.items.map((item) => compact(text, item)).join(',')}]`
  if (node.kind !== 'object') return node.raw
  const members = node.members.map(
    ({ keyStart, keyEnd, value }) => `${text.slice(keyStart, keyEnd)}:${value ? compact(text, value) : 'null'}`,
  )
  return `{${members.join(',')}}`
}

/** The white space at the start of the line that holds `offset`. */
export function lineIndentAt(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? ''
}

/** The indentation that the text uses: that of its first indented line. */
export function indentUnitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? DEFAULT_INDENT
}
