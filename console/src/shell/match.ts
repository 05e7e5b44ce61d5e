/** Finds names by a few typed letters. Pure, and fast enough to look at ten thousand names for every key. */

export interface Candidate<T> {
  readonly item: T
  /** In lower case. */
  readonly text: string
}

export function candidateOf<T>(item: T, text: string): Candidate<T> {
  return { item, text: text.toLowerCase() }
}

const BOUNDARY = /[\s.:/_-]/

/** The best matches first. Every word of the query must occur; a single word may also occur letter by letter. */
export function search<T>(query: string, candidates: readonly Candidate<T>[], limit: number): T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return candidates.slice(0, limit).map(({ item }) => item)
  const found: { item: T; score: number; order: number }[] = []
  for (const [order, { item, text }] of candidates.entries()) {
    let score = -text.length / 100
    for (const word of words) {
      const one = scoreOf(word, text)
      if (one === 0) {
        score = 0
        break
      }
      score += one
    }
    if (score !== 0) found.push({ item, score, order })
  }
  found.sort((one, other) => other.score - one.score || one.order - other.order)
  return found.slice(0, limit).map(({ item }) => item)
}

/** 0: no match. A whole word counts most, then its beginning, then any part, then single letters in order. */
function scoreOf(word: string, text: string): number {
  let best = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const begins = at === 0 || BOUNDARY.test(text[at - 1] ?? '')
    const after = text[at + word.length]
    const ends = after === undefined || BOUNDARY.test(after)
    best = Math.max(best, begins && ends ? 100 : begins ? 80 : 60)
    if (best === 100) break
  }
  return best || lettersInOrder(word, text)
}

function lettersInOrder(word: string, text: string): number {
  if (word.length < 2) return 0
  let at = -1
  let together = 0
  for (const letter of word) {
    const next = text.indexOf(letter, at + 1)
    if (next < 0) return 0
    if (next === at + 1 || BOUNDARY.test(text[next - 1] ?? ' ')) together++
    at = next
  }
  // Letters that are scattered everywhere match almost any name: most must stand together or begin a word.
  return together * 2 >= word.length ? (20 * together) / word.length : 0
}
