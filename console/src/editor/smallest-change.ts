/** The one change that makes a text into another: what they share at both ends stays. */

export interface Change {
  readonly from: number
  readonly to: number
  readonly insert: string
}

export function smallestChange(before: string, after: string): Change | undefined {
  if (before === after) return undefined
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before.charCodeAt(start) === after.charCodeAt(start)) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}
