/** Writes rows as CSV (RFC 4180). A spreadsheet must not take a value for a formula. */

/** A spreadsheet evaluates cells that begin like this. Some of them skip white space first, or take wide signs. */
const FORMULA = /^(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/
/**
 * Where the comma is the decimal sign, a spreadsheet separates cells at semicolons, and then also within quotes that do
 * not begin its cell. A tab or a line break can do the same.
 */
const FORMULA_WITHIN = /(?<=[;\t\r\n])(?=[^\S\t\r\n]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g

export function csvLine(values: readonly unknown[]): string {
  return `${values.map(cellOf).join(',')}\r\n`
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = text.replace(FORMULA_WITHIN, "'").replace(FORMULA, "'")
  return /[",\r\n]/.test(safe) || safe !== text ? `"${safe.replaceAll('"', '""')}"` : safe
}
