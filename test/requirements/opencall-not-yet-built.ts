/** OpenCALL requirements that are not implemented yet, each with the reason. Remove an id when a test proves it. */

const byReason: readonly [reason: string, ids: readonly (number | readonly [first: number, last: number])[]][] = []

function idsOf(entry: number | readonly [first: number, last: number]): string[] {
  const [first, last] = typeof entry === 'number' ? [entry, entry] : entry
  return Array.from({ length: last - first + 1 }, (_, index) => `opencall:${String(first + index).padStart(3, '0')}`)
}

export const opencallNotYetBuilt: readonly (readonly [id: string, reason: string])[] = byReason.flatMap(
  ([reason, entries]) => entries.flatMap(idsOf).map((id) => [id, reason] as const),
)
