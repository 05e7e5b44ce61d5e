/** Unions and intersections of types that are texts. */

export function union(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== 'never')
  if (distinct.includes('unknown')) return 'unknown'
  return distinct.length === 0 ? 'never' : distinct.join(' | ')
}

export function intersection(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== 'unknown')
  if (distinct.includes('never')) return 'never'
  if (distinct.length <= 1) return distinct[0] ?? 'unknown'
  return distinct.map(inBrackets).join(' & ')
}

/** A type that can be part of a list or an intersection. */
export function inBrackets(type: string): string {
  return isSimple(type) ? type : `(${type})`
}

/** True for names, literals and single braces. Brackets that are not needed do no harm, so it need not be exact. */
function isSimple(type: string): boolean {
  return /^[\w$]+$/.test(type) || /^'(?:[^'\\]|\\.)*'$/.test(type) || /^\{[^{}]*\}$/.test(type)
}
