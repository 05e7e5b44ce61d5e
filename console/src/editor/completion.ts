/** Names and values that the schema knows, where the cursor stands. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { type Field, readField } from '../forms/schema/field.ts'
import type { FormModel } from '../forms/schema/model.ts'
import { startText } from '../forms/schema/start.ts'
import { nodeAt } from '../forms/text/nodes.ts'
import { placeAt } from './place-at.ts'

const MAX_SHOWN = 500

export function completionsAt(model: FormModel, context: CompletionContext): CompletionResult | null {
  const text = context.state.doc.toString()
  const place = placeAt(text, context.pos)
  const word = context.matchBefore(/["\w.$-]*/)
  if (!context.explicit && (!word || word.from === word.to)) return null
  const from = place.start < context.pos ? place.start : (word?.from ?? context.pos)
  const node = nodeAt(place.root, place.path)
  const applied = model.apply(model.placeAt(place.root, place.path), node, place.path)
  const field = readField(model, applied)
  if (place.role === 'value') {
    const to = Math.max(place.end, context.pos)
    return { from, to, options: values(field), filter: from < context.pos, validFor: /^["\w.$-]*$/ }
  }
  const hasColon = /^\s*:/.test(text.slice(Math.max(place.end, context.pos)))
  const options = field.properties
    .filter(({ name }) => !place.siblings.includes(name))
    .slice(0, MAX_SHOWN)
    .map(({ name, required }): Completion => {
      const inner = model.propertyPlace(applied, name)
      const of = readField(model, model.apply(inner, undefined, [...place.path, name]))
      const key = JSON.stringify(name)
      return {
        label: key,
        type: 'property',
        detail: [of.kinds.join(' | '), required && 'required'].filter(Boolean).join(', '),
        ...(of.description && { info: of.description }),
        boost: required ? 1 : 0,
        apply: hasColon ? key : `${key}: ${of.fallback ?? startText(model, inner)}`,
      }
    })
  return { from, to: Math.max(place.end, context.pos), options, validFor: /^["\w.$-]*$/ }
}

function values(field: Field): Completion[] {
  const found = new Map<string, Completion>()
  const add = (text: string, more: Partial<Completion> = {}) => {
    if (!found.has(text) && found.size < MAX_SHOWN) found.set(text, { label: text, type: 'constant', ...more })
  }
  if (field.constant !== undefined) add(field.constant)
  for (const option of field.options ?? []) {
    add(option.text, { detail: option.label, ...(option.description && { info: option.description }) })
  }
  if (field.fallback !== undefined) add(field.fallback, { detail: 'default' })
  for (const example of field.examples) add(example, { detail: 'example' })
  if (field.kinds.includes('boolean')) for (const text of ['true', 'false']) add(text)
  if (field.nullable) add('null')
  return [...found.values()]
}
