/**
 * Checks a JSON Schema when the server starts: every keyword has the shape that 2020-12 requires, and every reference
 * stays inside the document. Written by hand, because ajv's meta-schema would add 130 ms to a start.
 */
import { Fault } from '../core/fault.ts'
import { decodePointer, encodePointer } from '../core/json-pointer.ts'
import type { PlainSchema } from '../core/operation/schema.ts'
import { KEYWORDS, problemWith, RETIRED } from './keywords.ts'

export interface CheckedSchema {
  /** True if `default` occurs anywhere. */
  readonly hasDefaults: boolean
  /** True if references use ids or anchors: only compiling shows whether they resolve. */
  readonly needsCompiling: boolean
}

type Path = readonly (string | number)[]

export function checkSchema(operation: string, side: string, schema: PlainSchema): CheckedSchema {
  const walk = new Walk((path, problem) => {
    const place = path.length === 0 ? 'its top' : encodePointer(path)
    throw new Fault(
      'malformed',
      `The ${side} schema of ${operation} is not valid JSON Schema 2020-12: ${place} ${problem}.`,
      {
        code: 'INVALID_SCHEMA',
        details: { operation, side, path: encodePointer(path) },
      },
    )
  })
  walk.schema(schema, [])
  walk.references(schema)
  return { hasDefaults: walk.hasDefaults, needsCompiling: walk.named }
}

const DIALECTS = /^https?:\/\/json-schema\.org\/draft(?:\/2020-12|\/2019-09|-07|-06)\/schema#?$/

class Walk {
  hasDefaults = false
  named = false
  readonly #seen = new Set<unknown>()
  readonly #references: { path: Path; to: string }[] = []
  readonly #refuse: (path: Path, problem: string) => never

  constructor(refuse: (path: Path, problem: string) => never) {
    this.#refuse = refuse
  }

  schema(schema: unknown, path: Path): void {
    if (typeof schema === 'boolean' && path.length > 0) return
    if (!isPlainObject(schema)) {
      this.#refuse(
        path,
        path.length === 0 ? 'must be an object of keywords' : 'must be a schema: an object or a boolean',
      )
    }
    if (this.#seen.has(schema)) return
    this.#seen.add(schema)
    for (const keyword of Object.keys(schema)) this.#keyword(keyword, schema[keyword], path)
  }

  #keyword(keyword: string, value: unknown, path: Path): void {
    const advice = RETIRED.get(keyword)
    if (advice) this.#refuse([...path, keyword], advice)
    const shape = KEYWORDS.get(keyword)
    if (shape === undefined || value === undefined) return
    const problem = problemWith(shape, value)
    if (problem) this.#refuse([...path, keyword], problem)
    if (shape === 'schema') this.schema(value, [...path, keyword])
    else if (shape === 'schema list' || shape === 'schema map' || shape === 'schema map by pattern') {
      for (const [key, inner] of Object.entries(value as object)) this.schema(inner, [...path, keyword, key])
    } else if (shape === 'reference') this.#references.push({ path: [...path, keyword], to: value as string })
    else if (keyword === 'default') this.hasDefaults = true
    else if (keyword === '$schema' && !DIALECTS.test(value as string)) {
      this.#refuse([...path, keyword], 'names another dialect; write https://json-schema.org/draft/2020-12/schema')
    } else if (keyword.endsWith('nchor') || (keyword === '$id' && path.length > 0)) this.named = true
  }

  /** Also walks the targets of references: `#/components/x` may be in a place that no keyword covers. */
  references(root: PlainSchema): void {
    for (const { path, to } of this.#references) {
      if (to === '#') continue
      if (to.startsWith('#/')) {
        if (this.named) continue
        const keys = decodePointer(to.slice(1))
        const target = keys.reduce<unknown>(
          (at, key) =>
            typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as PlainSchema)[key] : undefined,
          root,
        )
        if (target === undefined) this.#refuse(path, `refers to "${to}", which is not in the schema`)
        this.schema(target, keys)
      } else if (root.$id !== undefined || this.named) this.named = true
      else
        this.#refuse(
          path,
          `refers to "${to}", which is outside the schema; put it under $defs and refer to "#/$defs/…"`,
        )
    }
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || (Object.prototype.toString.call(value) === '[object Object]' && !hasMethods(value))
}

/** A schema of a library that is not a Standard Schema, such as zod before 3.24, has functions. */
function hasMethods(value: object): boolean {
  return (
    typeof (value as { parse?: unknown }).parse === 'function' ||
    typeof (value as { validate?: unknown }).validate === 'function'
  )
}
