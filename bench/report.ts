/** Prints one table for each suite, and which goals were met. */
import { roundFigure } from './results.ts'
import type { Findings, Row } from './suites/suite.ts'

const HEADINGS = ['contender', 'CPU µs/call', 'calls/s', 'relative', 'between', '']
const TEXT_COLUMNS = new Set([0, 5])

export function printFindings({ rows, goals }: Findings): void {
  for (const [suite, own] of Map.groupBy(rows, (row) => row.suite)) {
    console.log(`\n${suite}`)
    printTable([HEADINGS, ...own.map(cellsOf)])
  }
  console.log()
  for (const { name, goal, measured, met } of goals)
    console.log(`${met ? '✓' : '✗'} ${name}: ${goal}. Measured: ${measured}`)
}

function cellsOf({ contender, cpuUs, perSecond, relative, spread, interval = spread, figures = {} }: Row): string[] {
  return [
    contender,
    cpuUs?.toFixed(1) ?? '',
    perSecond?.toFixed(0) ?? '',
    relative?.toFixed(3) ?? '',
    interval ? `${interval.low.toFixed(3)}–${interval.high.toFixed(3)}` : '',
    Object.entries(figures)
      .map(([name, value]) => `${name} ${roundFigure(value)}`)
      .join(', '),
  ]
}

function printTable(table: readonly string[][]): void {
  const widths = HEADINGS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  for (const row of table) {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0
      return TEXT_COLUMNS.has(column) ? cell.padEnd(width) : cell.padStart(width)
    })
    console.log(cells.join('  ').trimEnd())
  }
}
