/** A table for people: columns as wide as their widest cell, and lines cut to the width of the terminal. */
import type { Output } from '../command.ts'
import { fitted } from './text.ts'

type Rows = readonly (readonly string[])[]

export function tableText(rows: Rows, output: Output): string {
  return createTable(output).add(rows)
}

/** A table that grows: rows that are added later stand in the same columns, or in wider ones. */
export function createTable(output: Output): { add(rows: Rows): string } {
  const widths: number[] = []
  const lineOf = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return {
    add(rows) {
      for (const row of rows) {
        // The last column is not padded.
        for (const [column, cell] of row.slice(0, -1).entries())
          widths[column] = Math.max(widths[column] ?? 0, cell.length)
      }
      const width = output.isTTY ? output.columns || 80 : Number.POSITIVE_INFINITY
      return rows.map((row) => fitted(lineOf(row).trimEnd(), width)).join('\n')
    },
  }
}
