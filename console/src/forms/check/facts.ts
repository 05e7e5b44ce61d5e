/** What is computed once per schema and kept while its document is open: sets of allowed values, compiled patterns. */
import { createMatcher, isBounded } from '../../../../src/schemas/patterns/index.ts'
import { isSchema, type Schema, type SchemaObject, schemaList } from '../schema/document.ts'
import { canonicalValue } from './equal.ts'

export class SchemaFacts {
  readonly #allowed = new Map<object, ReadonlySet<string>>()
  readonly #patterns = new Map<string, { test(text: string): boolean } | undefined>()

  /** The texts of the values in an `enum`, as `canonicalNode` writes them. */
  allowedBy(values: readonly unknown[]): ReadonlySet<string> {
    let allowed = this.#allowed.get(values)
    if (!allowed) {
      allowed = new Set(values.map(canonicalValue))
      this.#allowed.set(values, allowed)
    }
    return allowed
  }

  /** `undefined` if the pattern is no regular expression, or has no bound on its time. */
  matches(pattern: string, text: string): boolean | undefined {
    if (!this.#patterns.has(pattern)) this.#patterns.set(pattern, matcherOf(pattern))
    return this.#patterns.get(pattern)?.test(text)
  }

  /** The schemas of the first items and of all others, as 2020-12 and as older drafts write them. */
  itemSchemas({ prefixItems, items, additionalItems }: SchemaObject): { first: Schema[]; rest: Schema | undefined } {
    if (Array.isArray(items))
      return { first: schemaList(items), rest: isSchema(additionalItems) ? additionalItems : undefined }
    return { first: schemaList(prefixItems), rest: isSchema(items) ? items : undefined }
  }
}

function matcherOf(pattern: string): { test(text: string): boolean } | undefined {
  try {
    return isBounded(pattern) ? createMatcher(pattern) : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}
