/** What the schema says about the name or value under the pointer. */
import type { Tooltip } from '@codemirror/view'
import { readField } from '../forms/schema/field.ts'
import type { FormModel } from '../forms/schema/model.ts'
import { decodeString, type JsonNode, nodeAt, type Path } from '../forms/text/nodes.ts'
import { texts } from '../texts/en/forms.ts'
import { placeAt } from './place-at.ts'

export function hoverAt(model: FormModel, text: string, offset: number): Tooltip | null {
  const place = placeAt(text, offset)
  if (place.start === place.end) return null
  const path = place.role === 'key' ? [...place.path, decodeString(text.slice(place.start, place.end))] : place.path
  const words = aboutPlace(model, path, place.root)
  if (words === '') return null
  return {
    pos: place.start,
    end: place.end,
    create: () => {
      const dom = document.createElement('div')
      dom.className = 'cm-schema-hover'
      dom.textContent = words
      return { dom }
    },
  }
}

function aboutPlace(model: FormModel, path: Path, root: JsonNode | undefined): string {
  const node = nodeAt(root, path)
  const field = readField(model, model.apply(model.placeAt(root, path), node, path))
  const lines = [
    field.title,
    field.description,
    [...field.kinds, field.nullable && 'null', field.format].filter(Boolean).join(' | '),
    field.fallback !== undefined && texts.defaultIs(field.fallback),
    field.options
      ?.slice(0, 12)
      .map((option) => option.text)
      .join(', '),
  ]
  return lines.filter((line) => typeof line === 'string' && line !== '').join('\n')
}
