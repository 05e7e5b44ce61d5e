/** The declarations of a catalogue as Python types. */
import type { CatalogueMedia } from '../catalogue.ts'
import type { Declaration, Field, ObjectDeclaration, Shape } from '../shapes/shape.ts'
import { comment, docstring, isFieldName, stringLiteral } from './text.ts'

const SIMPLE = { any: 'Any', string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' } as const

export function typeText(shape: Shape): string {
  switch (shape.kind) {
    case 'literals':
      return literalType(shape.values)
    case 'list':
      return `list[${typeText(shape.items)}]`
    case 'map':
      return `dict[str, ${typeText(shape.values)}]`
    case 'union':
      return [...new Set(shape.options.map(typeText))].join(' | ')
    case 'named':
      return shape.name
    default:
      return SIMPLE[shape.kind]
  }
}

/** `Literal` takes no fractions. */
function literalType(values: readonly (string | number | boolean)[]): string {
  const exact = values.filter((value) => typeof value !== 'number' || Number.isSafeInteger(value))
  const literals = exact.map((value) =>
    typeof value === 'string'
      ? stringLiteral(value)
      : typeof value === 'boolean'
        ? value
          ? 'True'
          : 'False'
        : String(value),
  )
  const parts = [
    ...(literals.length > 0 ? [`Literal[${literals.join(', ')}]`] : []),
    ...(exact.length < values.length ? ['float'] : []),
  ]
  return parts.join(' | ')
}

export function declarationLines(declaration: Declaration): string[] {
  if (declaration.kind === 'object') return objectLines(declaration)
  // A text, because the type may contain itself or one that is declared later.
  const type = stringLiteral(typeText(declaration.shape).replaceAll('"', "'"))
  return [...comment(declaration.description, ''), `${declaration.name}: TypeAlias = ${type}`]
}

function objectLines({ name, description, fields }: ObjectDeclaration): string[] {
  if (fields.every((field) => isFieldName(field.name))) {
    const members = fields.flatMap((field, index) => {
      const told = docstring(field.description, '    ')
      return [
        `    ${field.name}: ${fieldType(field)}`,
        ...told,
        ...(told.length > 0 && index < fields.length - 1 ? [''] : []),
      ]
    })
    const told = docstring(description, '    ')
    const body = [...told, ...(told.length > 0 && members.length > 0 ? [''] : []), ...members]
    return [`class ${name}(TypedDict):`, ...(body.length > 0 ? body : ['    pass'])]
  }
  // Some names are no identifiers.
  const members = fields.flatMap((field) => [
    ...comment(field.description, '        '),
    `        ${stringLiteral(field.name)}: ${stringLiteral(fieldType(field).replaceAll('"', "'"))},`,
  ])
  return [
    ...comment(description, ''),
    `${name} = TypedDict(`,
    `    ${stringLiteral(name)},`,
    '    {',
    ...members,
    '    },',
    ')',
  ]
}

function fieldType({ shape, required }: Field): string {
  return required ? typeText(shape) : `NotRequired[${typeText(shape)}]`
}

/** The files that an operation takes. */
export function mediaDeclaration(name: string, media: readonly CatalogueMedia[]): ObjectDeclaration {
  const fields = media.map((slot) => ({
    name: slot.name,
    shape: { kind: 'named' as const, name: 'Media' },
    required: slot.required,
    description: mediaText(slot),
  }))
  return { kind: 'object', name, fields }
}

function mediaText({ acceptedTypes, maxBytes }: CatalogueMedia): string {
  const types = acceptedTypes.length > 0 ? acceptedTypes.join(', ') : 'any type'
  return maxBytes === undefined ? types : `${types}; at most ${maxBytes} bytes`
}
