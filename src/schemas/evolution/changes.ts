/** Shared by the parts of a comparison: a change, the reader of a value, and the comparison of nested schemas. */
import type { JsonObject, JsonValue } from '../../core/json.ts'

export interface SchemaChange {
  /** Keywords and names, starting at the compared schema. */
  readonly at: readonly string[]
  readonly kind: 'safe' | 'breaking'
  readonly message: string
}

/** The server reads arguments, the caller reads results. */
export type Reader = 'server' | 'caller'

export interface Comparison {
  readonly reader: Reader
  /** Compares two nested schemas. The places in the result start at those two. */
  compare(before: JsonValue | undefined, after: JsonValue | undefined): readonly SchemaChange[]
  /** Resolves references in the new document. */
  resolveAfter(schema: JsonValue | undefined): JsonObject
}

export function safe(at: readonly string[], message: string): SchemaChange {
  return { at, kind: 'safe', message }
}

export function breaking(at: readonly string[], message: string): SchemaChange {
  return { at, kind: 'breaking', message }
}

export function unprovable(at: readonly string[]): SchemaChange {
  return breaking(at, `"${at.at(-1)}" changed in a way that cannot be shown to be safe`)
}

export function below(at: readonly string[], changes: readonly SchemaChange[]): SchemaChange[] {
  return changes.map((change) => ({ ...change, at: [...at, ...change.at] }))
}

export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
