/** The declarations of a catalogue as Go types. */
import type { CatalogueMedia } from '../catalogue.ts'
import { FreeNames } from '../free-names.ts'
import {
  type AliasDeclaration,
  type Declaration,
  type Field,
  type ObjectDeclaration,
  type Shape,
  withoutNull,
} from '../shapes/shape.ts'
import { pascalName } from '../shapes/words.ts'
import { comment, fieldTag, isTagName, stringLiteral } from './text.ts'

const SIMPLE = {
  any: 'any',
  string: 'string',
  integer: 'int64',
  number: 'float64',
  boolean: 'bool',
  null: 'any',
} as const

/** Prints types. Enumerations get types of their own while it prints. */
export class TypePrinter {
  readonly #declarations: ReadonlyMap<string, Declaration>
  readonly #names: FreeNames

  constructor(declarations: readonly Declaration[], names: FreeNames) {
    this.#declarations = new Map(declarations.map((declaration) => [declaration.name, declaration]))
    this.#names = names
  }

  typeText(shape: Shape): string {
    switch (shape.kind) {
      case 'literals':
        return baseOf(shape.values)
      case 'list':
        return `[]${this.typeText(shape.items)}`
      case 'map':
        return `map[string]${this.typeText(shape.values)}`
      case 'union':
        return this.#unionText(shape)
      case 'named':
        return shape.name
      default:
        return SIMPLE[shape.kind]
    }
  }

  /** Go has no unions. One with `null` is a pointer, one of numbers is a number, and others are `any`. */
  #unionText(union: Shape): string {
    const { shape, nullable } = withoutNull(union)
    const text =
      shape.kind === 'union' ? commonText(shape.options.map((option) => this.typeText(option))) : this.typeText(shape)
    return nullable && !hasNil(text) ? `*${text}` : text
  }

  lines(declaration: Declaration): string[][] {
    return declaration.kind === 'object' ? this.#objectLines(declaration) : this.#aliasLines(declaration)
  }

  #aliasLines({ name, description, shape }: AliasDeclaration): string[][] {
    if (shape.kind === 'literals' && baseOf(shape.values) === 'string') {
      return enumLines(name, description, shape.values as readonly string[], this.#names)
    }
    return [[...told(name, description, this.#options(shape)), `type ${name} ${this.typeText(shape)}`]]
  }

  #objectLines({ name, description, fields }: ObjectDeclaration): string[][] {
    if (!fields.every((field) => isTagName(field.name))) {
      const names = fields.map((field) => JSON.stringify(field.name)).join(', ')
      const note = `A map, because encoding/json has no tags for some of its fields: ${names}.`
      return [[...told(name, description, note), `type ${name} map[string]any`]]
    }
    const enums: string[][] = []
    const free = new FreeNames()
    const members = fields.map((field) => {
      const member = free.take(pascalName(field.name))
      return this.#memberLines(name, member, field, enums)
    })
    // A blank line between two fields: gofmt would align neighbours.
    const body = members.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
    if (body.length === 0) return [[...told(name, description), `type ${name} struct{}`]]
    return [[...told(name, description), `type ${name} struct {`, ...body, '}'], ...enums]
  }

  #memberLines(struct: string, member: string, field: Field, enums: string[][]): string[] {
    const { shape, nullable } = withoutNull(field.shape)
    let text = this.typeText(field.shape)
    if (shape.kind === 'literals' && baseOf(shape.values) === 'string') {
      const type = this.#names.take(`${struct}${member}`)
      enums.push(...enumLines(type, undefined, shape.values as readonly string[], this.#names))
      text = nullable ? `*${type}` : type
    }
    // Not for `any`: its nil is left out. A list that is left out is not an empty one.
    const pointer = text.startsWith('*') || text === 'any' ? text : `*${text}`
    const type = field.required ? (this.#containsItself(struct, field.shape) ? pointer : text) : pointer
    const doc = [field.description, this.#options(field.shape)].filter((part) => part !== undefined).join('\n')
    return [...(doc === '' ? [] : comment(doc, '\t')), `\t${member} ${type} ${fieldTag(field.name, !field.required)}`]
  }

  /** Go cannot tell which option of a union it is, so the comment does. */
  #options(shape: Shape): string | undefined {
    const inner = withoutNull(shape).shape
    if (inner.kind === 'literals' && baseOf(inner.values) !== 'string') {
      return `One of ${inner.values.map((value) => JSON.stringify(value)).join(', ')}.`
    }
    if (inner.kind !== 'union' || this.typeText(inner) !== 'any') return undefined
    return `One of ${inner.options.map((option) => this.typeText(option)).join(', ')}.`
  }

  /** True if a struct would have to contain itself: Go needs a pointer there. */
  #containsItself(struct: string, shape: Shape, seen = new Set<string>()): boolean {
    if (shape.kind !== 'named' || seen.has(shape.name)) return false
    if (shape.name === struct) return true
    seen.add(shape.name)
    const target = this.#declarations.get(shape.name)
    if (target?.kind === 'alias') return this.#containsItself(struct, target.shape, seen)
    return target?.fields.some((field) => field.required && this.#containsItself(struct, field.shape, seen)) ?? false
  }
}

function told(name: string, ...texts: readonly (string | undefined)[]): string[] {
  const text = texts.filter((part) => part !== undefined).join('\n')
  return text === '' ? [] : comment(`${name}: ${text}`)
}

function enumLines(
  name: string,
  description: string | undefined,
  values: readonly string[],
  names: FreeNames,
): string[][] {
  const known = description ?? 'One of these values. A newer server may send others.'
  return [
    [...told(name, known), `type ${name} string`],
    ...values.map((value) => [`const ${names.take(pascalName(name, value))} ${name} = ${stringLiteral(value)}`]),
  ]
}

function baseOf(values: readonly (string | number | boolean)[]): string {
  return commonText(
    values.map((value) => {
      if (typeof value !== 'number') return typeof value === 'string' ? 'string' : 'bool'
      return Number.isSafeInteger(value) ? 'int64' : 'float64'
    }),
  )
}

function commonText(texts: readonly string[]): string {
  const unique = new Set(texts)
  if (unique.size === 1) return texts[0] as string
  return [...unique].every((text) => text === 'int64' || text === 'float64') ? 'float64' : 'any'
}

/** True if `null` fits the type as it is. */
function hasNil(text: string): boolean {
  return text === 'any' || text.startsWith('[]') || text.startsWith('map[') || text.startsWith('*')
}

/** The files that an operation takes. */
export function mediaLines(name: string, slots: readonly CatalogueMedia[]): string[][] {
  const free = new FreeNames(['media'])
  const named = slots.map((slot) => ({ slot, member: free.take(pascalName(slot.name)) }))
  const body = named.flatMap(({ slot, member }, index) => [
    ...(index === 0 ? [] : ['']),
    ...comment(mediaText(slot), '\t'),
    `\t${member} Media`,
  ])
  return [
    [`type ${name} struct {`, ...body, '}'],
    [
      `func (files ${name}) media() map[string]Media {`,
      '\tall := map[string]Media{}',
      ...named.map(({ slot, member }) => `\tall[${stringLiteral(slot.name)}] = files.${member}`),
      '\treturn all',
      '}',
    ],
  ]
}

function mediaText({ acceptedTypes, maxBytes, required }: CatalogueMedia): string {
  const types = acceptedTypes.length > 0 ? acceptedTypes.join(', ') : 'Any type'
  const size = maxBytes === undefined ? '' : `, at most ${maxBytes} bytes`
  return `${types}${size}${required ? ', required' : ''}.`
}
