/** Longer input is not compared: the cost grows with its length, and it is not a mistyped name. */
const MAX_CHARS = 200

/** Suggests the names closest to a mistyped one, by edit distance. */
export function nearest(
  typed: string,
  names: readonly string[],
  count: number,
  /** Short forms of a name to compare as well. */
  formsOf: (name: string) => string[] = (name) => [name],
): string[] {
  if (typed.length > MAX_CHARS) return []
  const wanted = typed.toLowerCase()
  const most = Math.min(wanted.length - 1, Math.max(2, Math.floor(wanted.length / 3)))
  const editsTo = (name: string) => Math.min(...formsOf(name).map((form) => distance(wanted, form.toLowerCase())))
  return names
    .map((name) => ({ name, edits: editsTo(name) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits || a.name.localeCompare(b.name))
    .slice(0, count)
    .map(({ name }) => name)
}

/** Levenshtein distance, one row at a time. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[to.length] as number
}
