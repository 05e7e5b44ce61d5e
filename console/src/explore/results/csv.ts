/** Reads CSV (RFC 4180) for a table. Cells are text: a formula is shown, and nothing calculates it. */

export interface Csv {
  rows: string[][]
  /** False if there are more rows than were asked for. */
  isWhole: boolean
}

export function parseCsv(text: string, maxRows: number, separator = ','): Csv {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length) {
    if (rows.length === maxRows) return { rows, isWhole: false }
    const cell = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at, separator)
    row.push(cell.value)
    at = cell.end
    if (text[at] === separator) {
      at++
      // A separator at the very end is followed by an empty cell.
      if (at === text.length) row.push('')
      continue
    }
    if (text[at] === '\r') at++
    if (text[at] === '\n') at++
    rows.push(row)
    row = []
  }
  if (row.length > 0) rows.push(row)
  return { rows, isWhole: true }
}

function quotedCell(text: string, start: number): { value: string; end: number } {
  let value = ''
  let from = start + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return { value: value + text.slice(from), end: text.length }
    value += text.slice(from, quote)
    if (text[quote + 1] !== '"') return { value, end: quote + 1 }
    value += '"'
    from = quote + 2
  }
}

function plainCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++
  return { value: text.slice(start, end), end }
}
