/**
 * Edits of one value in a JSON text. Each gives the one piece of text to replace; all other bytes stay: order, spaces,
 * unknown keys, long numbers. The text must be free of mistakes.
 */
import { type ArrayNode, childOf, type JsonNode, memberOf, type ObjectNode, type Path, type PathStep } from './nodes.ts'
import type { Parsed } from './parse.ts'
import { indentText, indentUnitOf, lineIndentAt } from './print.ts'

/** Replaces the text from `start` to `end`. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly insert: string
}

export function applySplice(text: string, { start, end, insert }: Splice): string {
  return text.slice(0, start) + insert + text.slice(end)
}

/** Sets a value. Missing objects and arrays on the way are made; a value of another kind on the way is replaced. */
export function setAt(parsed: Parsed, path: Path, value: string): Splice {
  const { text } = parsed
  let node = parsed.root
  if (!node) return { start: 0, end: text.length, insert: indentText(wrap(path, value), indentUnitOf(text)) }
  for (const [depth, step] of path.entries()) {
    const child = childOf(node, step)
    if (child) {
      node = child
      continue
    }
    const below = wrap(path.slice(depth + 1), value)
    if (node.kind === 'object' && typeof step === 'string') return insertMember(text, node, step, below)
    if (node.kind === 'array' && typeof step === 'number') return insertItem(text, node, node.items.length, below)
    return replace(text, node, wrap(path.slice(depth), value))
  }
  return replace(text, node, value)
}

/** Removes a property or an item with its comma. The root becomes `{}`. */
export function removeAt(parsed: Parsed, path: Path): Splice | undefined {
  const step = path.at(-1)
  const parent = nodeUp(parsed, path)
  if (step === undefined) return parsed.root ? replace(parsed.text, parsed.root, '{}') : undefined
  const parts = parent && partsOf(parent)
  const index = parent ? indexOf(parent, step) : -1
  const part = parts?.[index]
  if (!parent || !parts || !part) return undefined
  const next = parts[index + 1]
  const previous = parts[index - 1]
  if (next) return { start: part.start, end: next.start, insert: '' }
  if (previous) return { start: previous.end, end: part.end, insert: '' }
  return { start: parent.start + 1, end: parent.end - 1, insert: '' }
}

/** Renames a property. `undefined` if it is absent, or if another one has the name. */
export function renameAt(parsed: Parsed, path: Path, name: string): Splice | undefined {
  const parent = nodeUp(parsed, path)
  const step = path.at(-1)
  if (parent?.kind !== 'object' || typeof step !== 'string' || memberOf(parent, name)) return undefined
  const member = memberOf(parent, step)
  return member && { start: member.keyStart, end: member.keyEnd, insert: JSON.stringify(name) }
}

/** Inserts an item before the one at `index`, or at the end. */
export function insertAt(parsed: Parsed, path: Path, index: number, value: string): Splice {
  let node: JsonNode | undefined = parsed.root
  for (const step of path) node = childOf(node, step)
  if (node?.kind !== 'array') return setAt(parsed, path, `[${value}]`)
  return insertItem(parsed.text, node, Math.min(index, node.items.length), value)
}

/** Moves a property or an item to another index. Commas and spaces stay where they are. */
export function moveAt(parsed: Parsed, path: Path, to: number): Splice | undefined {
  const parent = nodeUp(parsed, path)
  const step = path.at(-1)
  if (!parent || step === undefined) return undefined
  const parts = partsOf(parent)
  const from = indexOf(parent, step)
  if (from < 0 || to < 0 || to >= parts.length || from === to) return undefined
  const low = Math.min(from, to)
  const touched = parts.slice(low, Math.max(from, to) + 1)
  const texts = touched.map(({ start, end }) => parsed.text.slice(start, end))
  texts.splice(to - low, 0, ...texts.splice(from - low, 1))
  let insert = ''
  for (const [index, part] of touched.entries()) {
    const gapStart = touched[index - 1]?.end ?? part.start
    insert += parsed.text.slice(gapStart, part.start) + texts[index]
  }
  return { start: touched[0]?.start ?? 0, end: touched.at(-1)?.end ?? 0, insert }
}

function replace(text: string, node: JsonNode, value: string): Splice {
  const insert = isMultiline(text, node) ? indentText(value, indentUnitOf(text), lineIndentAt(text, node.start)) : value
  return { start: node.start, end: node.end, insert }
}

function insertMember(text: string, node: ObjectNode, key: string, value: string): Splice {
  return insertPart(text, node, node.members.length, (base) => {
    const of = base === undefined ? value : indentText(value, indentUnitOf(text), base)
    return `${JSON.stringify(key)}: ${of}`
  })
}

function insertItem(text: string, node: ArrayNode, index: number, value: string): Splice {
  return insertPart(text, node, index, (base) =>
    base === undefined ? value : indentText(value, indentUnitOf(text), base),
  )
}

/** `print` gets the indentation of its line, or nothing if the container stands on one line. */
function insertPart(
  text: string,
  node: ObjectNode | ArrayNode,
  index: number,
  print: (base: string | undefined) => string,
): Splice {
  const parts = partsOf(node)
  const before = parts[index]
  const last = parts[index - 1]
  if (before) {
    const lead = text.slice(last?.end ?? node.start + 1, before.start)
    const gap = last ? lead.slice(lead.indexOf(',') + 1) : lead
    const base = gap.includes('\n') ? lineIndentAt(text, before.start) : undefined
    const separator = gap.includes('\n') ? `,${gap.slice(gap.lastIndexOf('\n'))}` : ', '
    return { start: before.start, end: before.start, insert: `${print(base)}${separator}` }
  }
  if (last) {
    const own = text.slice(parts[index - 2]?.end ?? node.start + 1, last.start)
    const base = own.includes('\n') ? lineIndentAt(text, last.start) : undefined
    return { start: last.end, end: last.end, insert: `,${base === undefined ? ' ' : `\n${base}`}${print(base)}` }
  }
  const inside = { start: node.start + 1, end: node.end - 1 }
  if (!isMultiline(text, node)) return { ...inside, insert: print(undefined) }
  const outer = lineIndentAt(text, node.start)
  const base = outer + indentUnitOf(text)
  return { ...inside, insert: `\n${base}${print(base)}\n${outer}` }
}

/** A text that is nothing but its root, and a text with line breaks, are written on several lines. */
function isMultiline(text: string, node: JsonNode): boolean {
  return text.includes('\n') || (node.start === 0 && /^[{[]\s*[}\]]$/.test(text))
}

function wrap(path: Path, value: string): string {
  return path.reduceRight<string>(
    (inner, step) => (typeof step === 'string' ? `{${JSON.stringify(step)}: ${inner}}` : `[${inner}]`),
    value,
  )
}

function nodeUp(parsed: Parsed, path: Path): ObjectNode | ArrayNode | undefined {
  let node = parsed.root
  for (const step of path.slice(0, -1)) node = childOf(node, step)
  return node?.kind === 'object' || node?.kind === 'array' ? node : undefined
}

function partsOf(node: ObjectNode | ArrayNode): { start: number; end: number }[] {
  if (node.kind === 'array') return node.items
  return node.members.map(({ keyStart, keyEnd, value }) => ({ start: keyStart, end: value?.end ?? keyEnd }))
}

function indexOf(node: ObjectNode | ArrayNode, step: PathStep): number {
  if (node.kind === 'object') return node.members.findLastIndex((member) => member.key === step)
  return typeof step === 'number' && step < node.items.length ? step : -1
}
