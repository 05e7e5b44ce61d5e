/**
 * What a JSON Schema can cost, told from the schema alone. Where each subschema is checked at most once for each place of
 * a value, the cost grows with the value and needs no counting; where a schema refers to itself, or its references
 * multiply, one value can be checked more often than it has parts.
 */
import type { PlainSchema } from '../../core/standard-schema.ts'
import { KEYWORDS } from '../keywords.ts'
import { decodePointer } from '../pointer.ts'

export interface SchemaCost {
  /** How many subschemas it has. */
  readonly subschemas: number
  /** A check has to be counted: it may take more steps than the value has parts. */
  readonly multiplies: boolean
  /** It contains itself and chooses among alternatives. */
  readonly recursiveChoice: boolean
  /** The regular expressions in it, as they are written. */
  readonly patterns: ReadonlySet<string>
}

/** Shared definitions may be used this many times over before their checks are counted. */
const MAX_REPEATS = 4
const MAX_UNCOUNTED = 1_000

/** These serve references only, or are not checked at all. */
const UNCHECKED = new Set(['$defs', 'definitions', 'contentSchema'])
const CHOICES = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'dependentSchemas']

export function costOf(root: PlainSchema): SchemaCost {
  const count = new Count(root)
  const evaluations = count.evaluations(root)
  const subschemas = count.subschemas
  return {
    subschemas,
    multiplies: count.isRecursive || count.isUnknown || evaluations > MAX_REPEATS * subschemas + MAX_UNCOUNTED,
    recursiveChoice: (count.isRecursive || count.isUnknown) && count.hasChoice,
    patterns: patternsIn(root),
  }
}

class Count {
  isRecursive = false
  isUnknown = false
  hasChoice = false
  readonly #root: PlainSchema
  readonly #known = new Map<object, number>()

  constructor(root: PlainSchema) {
    this.#root = root
  }

  get subschemas(): number {
    return this.#known.size
  }

  /** How many checks there are at most with every reference written out; saturates far below infinity. */
  evaluations(schema: unknown): number {
    if (typeof schema !== 'object' || schema === null) return 1
    const known = this.#known.get(schema)
    // 0 marks what is being counted: it contains itself.
    if (known === 0) this.isRecursive = true
    if (known !== undefined) return known
    this.#known.set(schema, 0)
    let sum = 1
    for (const [keyword, value] of Object.entries(schema)) sum += this.#member(keyword, value)
    sum = Math.min(sum, Number.MAX_SAFE_INTEGER)
    this.#known.set(schema, sum)
    return sum
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

  #reference(to: unknown): number {
    const keys =
      to === '#' ? [] : typeof to === 'string' && to.startsWith('#/') ? decodePointer(to.slice(1)) : undefined
    const target = keys?.reduce<unknown>(
      (at, key) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as PlainSchema)[key] : undefined,
      this.#root,
    )
    if (target === undefined) {
      // By an id or an anchor: where it leads is for ajv to find out.
      this.isUnknown = true
      return 1
    }
    return this.evaluations(target)
  }
}

/** Everywhere in the document, also where only a reference would look. */
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
