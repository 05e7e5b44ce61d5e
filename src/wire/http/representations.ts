/** Which stored form of a document a request accepts, and whether it has that form already (RFC 9110). */

/** "Accept-Encoding": a weight of 0 refuses the encoding. */
export function acceptsEncoding(header: string | undefined, encoding: 'br' | 'gzip'): boolean {
  if (header === undefined) return false
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', weight = ''] = item.split(';', 2).map((part) => part.trim())
    if (name !== encoding && name !== `x-${encoding}`) continue
    const [, q = '1'] = /^q=([\d.]{1,5})$/.exec(weight) ?? []
    return Number(q) > 0
  }
  return false
}

/** "If-None-Match". The comparison is weak, as for every GET. */
export function hasTag(header: string | undefined, etags: readonly string[]): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => etags.includes(tag.trim().replace(/^W\//, '')))
}
