/**
 * Searches operations by words or beginnings of words. Names have the highest weight. The index is cached until a
 * change.
 */
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'

/** Each word is compared with every operation, so a query of a megabyte would take minutes. */
const MAX_QUERY_CHARS = 500

export type Search = (query: string, limit: number) => JsonObject

interface Entry {
  described: JsonObject
  /** Words of each field, with the weight of a match. */
  words: readonly (readonly [words: readonly string[], worth: number])[]
}

/** `describe` returns the registry document with `operations`, in the order of `registry.list`. */
export function createSearch(
  registry: Pick<Catalog, 'operations' | 'nextChangeAt'>,
  describe: (now: number) => object,
  clock: { now(): number },
): Search {
  let kept: { entries: readonly Entry[]; of: readonly Operation[]; validUntil: number } | undefined
  const entries = () => {
    const now = clock.now()
    if (kept && kept.of === registry.operations && now < kept.validUntil) return kept.entries
    const { operations } = describe(now) as { operations: JsonObject[] }
    const validUntil = registry.nextChangeAt(now) ?? Number.POSITIVE_INFINITY
    kept = { entries: operations.filter(isServed).map(entryOf), of: registry.operations, validUntil }
    return kept.entries
  }
  return (query, limit) => {
    const wanted = wordsIn(query.slice(0, MAX_QUERY_CHARS))
    const found = entries()
      .map((entry) => ({ entry, worth: worthOf(entry, wanted) }))
      .filter(({ worth }) => worth > 0 || wanted.length === 0)
      .sort((a, b) => b.worth - a.worth)
    return { operations: found.slice(0, limit).map(({ entry }) => entry.described), total: found.length }
  }
}

/** The registry document may contain removed operations. */
function isServed(described: unknown): described is JsonObject {
  return isJsonObject(described) && described.removed !== true
}

function entryOf(described: JsonObject): Entry {
  const { op, title, description } = described
  return {
    described,
    words: [
      [wordsIn(op), 3],
      [wordsIn(title), 2],
      [wordsIn(description), 1],
    ],
  }
}

/** Each word counts once, in the field with the highest weight. */
function worthOf({ words }: Entry, wanted: readonly string[]): number {
  return wanted.reduce((sum, word) => {
    const best = words.find(([own]) => own.some((candidate) => candidate.startsWith(word)))
    return sum + (best?.[1] ?? 0)
  }, 0)
}

/** `v1:orders.getItem` becomes v1, orders, get and item. */
function wordsIn(said: unknown): string[] {
  if (typeof said !== 'string') return []
  const parted = said.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase()
  return parted.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
}
