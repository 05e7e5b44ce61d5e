/**
 * Estimates the cost of a JSON Schema from the schema alone. If few subschemas apply at one place of a value, the cost
 * is linear in the value and needs no bound. If a schema refers to itself, or its references multiply, steps are
 * counted. If many alternatives apply at one place, large values run under a time limit.
 */

import { decodePointer } from '../../core/json-pointer.ts'
import type { PlainSchema } from '../../core/operation/schema.ts'
import { KEYWORDS } from '../keywords.ts'
import { weightOf } from './weight.ts'

export interface SchemaCost {
  /** The number of subschemas. */
  readonly subschemas: number
  /** True if steps must be counted: a check may take more steps than the value has parts. */
  readonly multiplies: boolean
  /** The maximum number of steps at one place of a value. A recursion counts once. */
  readonly width: number
  /** True if the schema contains itself and has alternatives. */
  readonly recursiveChoice: boolean
  /** The sources of the regular expressions in the schema. */
  readonly patterns: ReadonlySet<string>
}

/** Shared definitions may be used this many times before steps are counted. */
const MAX_REPEATS = 4
const MAX_UNCOUNTED = 1_000
/** Looking up this many names in an object costs about as much as one check. */
const NAMES_PER_STEP = 8

/** Keywords that only hold targets of references, or are not checked at all. */
const UNCHECKED = new Set(['$defs', 'definitions', 'contentSchema'])
const CHOICES = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'dependentSchemas']

export function costOf(root: PlainSchema): SchemaCost {
  const count = new Count(root)
  const evaluations = count.evaluations(root)
  const subschemas = count.subschemas
  return {
    subschemas,
    multiplies: count.isRecursive || count.isUnknown || evaluations > MAX_REPEATS * subschemas + MAX_UNCOUNTED,
    width: count.width(root),
    recursiveChoice: (count.isRecursive || count.isUnknown) && count.hasChoice,
    patterns: patternsIn(root),
  }
}

/** The steps of a schema itself, without its subschemas. Absent fields are looked up too. */
export function ownSteps(schema: object): number {
  const { properties, required, dependentRequired, dependentSchemas, const: constant } = schema as PlainSchema
  const names = sizeOf(properties) + sizeOf(required) + sizeOf(dependentRequired) + sizeOf(dependentSchemas)
  const compared = typeof constant === 'object' && constant !== null ? weightOf(constant) : 0
  return 1 + Math.floor((names + compared) / NAMES_PER_STEP)
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

class Count {
  isRecursive = false
  isUnknown = false
  hasChoice = false
  readonly #root: PlainSchema
  readonly #known = new Map<object, number>()
  readonly #widths = new Map<object, number>()

  constructor(root: PlainSchema) {
    this.#root = root
  }

  get subschemas(): number {
    return this.#known.size
  }

  /** The maximum number of checks if every reference is expanded. Capped at the largest safe integer. */
  evaluations(schema: unknown): number {
    if (typeof schema !== 'object' || schema === null) return 1
    const known = this.#known.get(schema)
    // 0 marks a schema whose count is not finished: it contains itself.
    if (known === 0) this.isRecursive = true
    if (known !== undefined) return known
    this.#known.set(schema, 0)
    let sum = 1
    for (const [keyword, value] of Object.entries(schema)) sum += this.#member(keyword, value)
    sum = Math.min(sum, Number.MAX_SAFE_INTEGER)
    this.#known.set(schema, sum)
    return sum
  }

  /** A schema that contains itself is counted once; the meter counts the rest. */
  width(schema: unknown): number {
    if (typeof schema !== 'object' || schema === null) return 1
    const known = this.#widths.get(schema)
    if (known !== undefined) return known
    this.#widths.set(schema, 0)
    const held = schema as PlainSchema
    const of = (keyword: string) => (held[keyword] === undefined ? 0 : this.width(held[keyword]))
    const each = (keyword: string) => Object.values(held[keyword] ?? []).map((inner) => this.width(inner))
    const field = Math.max(largest(each('properties')) + sum(each('patternProperties')), of('additionalProperties'))
    const item = Math.max(largest(each('prefixItems')), of('items')) + of('contains')
    const below = Math.max(field + of('propertyNames') + of('unevaluatedProperties'), item + of('unevaluatedItems'))
    const here =
      sum(['anyOf', 'oneOf', 'allOf', 'dependentSchemas'].flatMap(each)) +
      sum(['not', 'if', 'then', 'else'].map(of)) +
      sum(['$ref', '$dynamicRef'].map((keyword) => (keyword in held ? this.width(this.#target(held[keyword])) : 0)))
    const width = Math.max(ownSteps(schema), below) + here
    this.#widths.set(schema, width)
    return width
  }

  #member(keyword: string, value: unknown): number {
    const shape = KEYWORDS.get(keyword)
    if (shape === undefined || UNCHECKED.has(keyword)) return 0
    if (CHOICES.includes(keyword)) this.hasChoice = true
    if (shape === 'schema') return this.evaluations(value)
    if (shape === 'reference') return this.#reference(value)
    if (shape !== 'schema list' && shape !== 'schema map' && shape !== 'schema map by pattern') return 0
    if (typeof value !== 'object' || value === null) return 0
    return Object.values(value).reduce<number>((sum, inner) => sum + this.evaluations(inner), 0)
  }

  #target(to: unknown): unknown {
    const keys =
      to === '#' ? [] : typeof to === 'string' && to.startsWith('#/') ? decodePointer(to.slice(1)) : undefined
    return keys?.reduce<unknown>(
      (at, key) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as PlainSchema)[key] : undefined,
      this.#root,
    )
  }

  #reference(to: unknown): number {
    const target = this.#target(to)
    if (target === undefined) {
      // A reference by id or anchor, which only ajv resolves.
      this.isUnknown = true
      return 1
    }
    return this.evaluations(target)
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0)
}

/** Searches the whole document, including places that only a reference reaches. */
function patternsIn(root: PlainSchema): ReadonlySet<string> {
  const found = new Set<string>()
  const seen = new Set<object>()
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (const [key, member] of Object.entries(value)) {
      if (key === 'pattern' && typeof member === 'string') found.add(member)
      if (key === 'patternProperties' && typeof member === 'object' && member !== null) {
        for (const pattern of Object.keys(member)) found.add(pattern)
      }
      look(member)
    }
  }
  look(root)
  return found
}
