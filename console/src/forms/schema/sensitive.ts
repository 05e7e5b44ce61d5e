/** Values that must not reach a link, the history or an export: those of `writeOnly` and `password` fields. */
import { applySplice, removeAt, setAt } from '../text/edit.ts'
import type { JsonNode, Path } from '../text/nodes.ts'
import { parseText } from '../text/parse.ts'
import { readField } from './field.ts'
import { FormModel, type Place } from './model.ts'

/**
 * The text without sensitive values; all other bytes stay. A text that is not JSON cannot be searched, so it is dropped
 * if the schema has sensitive fields at all: `undefined`.
 */
export function withoutSensitive(text: string, schema: unknown): string | undefined {
  const parsed = parseText(text)
  if (parsed.mistakes.length > 0) return mentionsSensitive(schema) ? undefined : text
  const model = new FormModel(schema)
  const found: Path[] = []
  if (parsed.root) collect(model, model.root, parsed.root, [], found)
  let result = text
  // From the end, so that the indices of earlier items stay right. Items become null: their place has a meaning.
  for (const path of found.toReversed()) {
    const now = parseText(result)
    const splice = typeof path.at(-1) === 'number' ? setAt(now, path, 'null') : removeAt(now, path)
    if (splice) result = applySplice(result, splice)
  }
  return result
}

function collect(model: FormModel, place: Place, node: JsonNode, path: Path, found: Path[]): void {
  const applied = model.apply(place, node, path)
  // Every branch counts: which of them the value means is a guess.
  const branches = applied.choices.flatMap((choice) => choice.branches)
  const all =
    branches.length > 0
      ? { ...applied, schemas: [...applied.schemas, ...model.apply(branches, node, path).schemas] }
      : applied
  if (readField(model, all).sensitive) {
    found.push(path)
    return
  }
  if (node.kind === 'object') {
    for (const { key, value } of node.members) {
      if (value) collect(model, model.propertyPlace(all, key), value, [...path, key], found)
    }
  } else if (node.kind === 'array') {
    for (const [index, item] of node.items.entries()) {
      collect(model, model.itemPlace(all, index), item, [...path, index], found)
    }
  }
}

function mentionsSensitive(schema: unknown): boolean {
  return /"writeOnly":true|"format":"password"/.test(JSON.stringify(schema) ?? '')
}
