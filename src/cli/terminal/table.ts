/** A table for people: columns as wide as their widest cell, and lines cut to the width of the terminal. */
import type { Output } from '../command.ts'
import { fitted } from './text.ts'

export function tableText(rows: readonly (readonly string[])[], output: Output): string {
  const widths: number[] = []
  for (const row of rows) {
    // The last column is not padded.
    for (const [column, cell] of row.slice(0, -1).entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  }
  const width = output.isTTY ? output.columns || 80 : Number.POSITIVE_INFINITY
  const lineOf = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => fitted(lineOf(row).trimEnd(), width)).join('\n')
}
