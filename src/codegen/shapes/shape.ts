/** The types of a catalogue, between JSON Schema and the types of a language. A language prints them. */
import type { CatalogueOperation } from '../catalogue.ts'

export type Shape =
  | { readonly kind: 'any' | 'string' | 'integer' | 'number' | 'boolean' | 'null' }
  /** One of these values. */
  | { readonly kind: 'literals'; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: 'list'; readonly items: Shape }
  | { readonly kind: 'map'; readonly values: Shape }
  /** Two or more options, none of them a union or `any`. */
  | { readonly kind: 'union'; readonly options: readonly Shape[] }
  /** A declaration. */
  | { readonly kind: 'named'; readonly name: string }

export interface Field {
  readonly name: string
  readonly shape: Shape
  readonly required: boolean
  readonly description?: string
}

export interface ObjectDeclaration {
  readonly kind: 'object'
  readonly name: string
  readonly description?: string
  readonly fields: readonly Field[]
}

export interface AliasDeclaration {
  readonly kind: 'alias'
  readonly name: string
  readonly description?: string
  readonly shape: Shape
}

export type Declaration = ObjectDeclaration | AliasDeclaration

/** An operation with the types of its schemas. */
export interface ShapedOperation {
  readonly operation: CatalogueOperation
  readonly args: Shape
  readonly result: Shape
  /** Present if the model is `stream`. */
  readonly frame?: Shape
  /** The start of the names of its types: `OrdersGetItem`. */
  readonly typeName: string
}

export interface Shapes {
  readonly declarations: readonly Declaration[]
  readonly operations: readonly ShapedOperation[]
}

export const ANY: Shape = { kind: 'any' }
const NULL: Shape = { kind: 'null' }

/** One shape for several options. Options that say the same are one. */
export function unionOf(options: readonly Shape[]): Shape {
  const flat = options.flatMap((option) => (option.kind === 'union' ? option.options : [option]))
  if (flat.some(({ kind }) => kind === 'any')) return ANY
  const literals = flat.flatMap((option) => (option.kind === 'literals' ? option.values : []))
  const others = flat.filter(({ kind }) => kind !== 'literals')
  const joined =
    literals.length > 0 ? [{ kind: 'literals' as const, values: [...new Set(literals)] }, ...others] : others
  const unique = [...new Map(joined.map((option) => [JSON.stringify(option), option])).values()]
  // `null` goes last, as people write it.
  const sorted = [...unique.filter(({ kind }) => kind !== 'null'), ...unique.filter(({ kind }) => kind === 'null')]
  const [only] = sorted
  if (only === undefined) return ANY
  return sorted.length === 1 ? only : { kind: 'union', options: sorted }
}

export function orNull(shape: Shape): Shape {
  return unionOf([shape, NULL])
}

/** The shape without `null`, and whether `null` is allowed. */
export function withoutNull(shape: Shape): { shape: Shape; nullable: boolean } {
  if (shape.kind !== 'union') return { shape, nullable: shape.kind === 'null' }
  const options = shape.options.filter(({ kind }) => kind !== 'null')
  return { shape: unionOf(options), nullable: options.length < shape.options.length }
}
