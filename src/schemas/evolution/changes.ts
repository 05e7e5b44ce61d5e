/** What the parts of a comparison share: a change, who reads the value, and how to go one level deeper. */
import type { JsonObject, JsonValue } from '../../core/json.ts'

export interface SchemaChange {
  /** Keywords and names from the compared schema down. */
  readonly at: readonly string[]
  readonly kind: 'safe' | 'breaking'
  readonly message: string
}

/** The server reads arguments, the caller reads results. */
export type Reader = 'server' | 'caller'

export interface Comparison {
  readonly reader: Reader
  /** Compares two schemas inside the ones under comparison; places in the answer start at those two. */
  compare(before: JsonValue | undefined, after: JsonValue | undefined): readonly SchemaChange[]
  /** Follows references of the new document. */
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
