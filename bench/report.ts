/** The table for people and results.json for machines. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import type { Findings, Goal, Row } from './suites/suite.ts'

const RESULTS = new URL('./results.json', import.meta.url)
const COMPARED = ['fastify', 'hono', '@hono/node-server', 'ajv', 'zod', 'better-sqlite3']

interface Results {
  machine: { cpu: string; cores: number; memoryGb: number; node: string; platform: string }
  versions: Record<string, string>
  quick: boolean
  rows: Row[]
  goals: (Goal & { suite?: string })[]
}

export function printFindings({ rows, goals }: Findings): void {
  const table = [
    ['suite', 'contender', 'CPU µs/call', 'calls/s', 'relative', 'spread', ''],
    ...rows.map(({ suite, contender, cpuUs, perSecond, relative, figures = {} }) => [
      suite,
      contender,
      cpuUs?.toFixed(1) ?? '',
      perSecond?.toFixed(0) ?? '',
      relative?.median.toFixed(3) ?? '',
      relative ? `${relative.low.toFixed(3)}–${relative.high.toFixed(3)}` : '',
      Object.entries(figures)
        .map(([name, value]) => `${name} ${round(value)}`)
        .join(', '),
    ]),
  ]
  const widths = (table[0] as string[]).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  console.log()
  for (const row of table) {
    console.log(
      row
        .map((cell, column) =>
          column < 2 || column > 5 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
  }
  console.log()
  for (const { name, goal, measured, met } of goals)
    console.log(`${met ? '✓' : '✗'} ${name}: ${goal}. Measured: ${measured}`)
}

export function writeResults(findings: Findings, suites: readonly string[], quick: boolean): void {
  void suites
  void existsSync
  const results: Results = {
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
    },
    versions: Object.fromEntries(COMPARED.map((name) => [name, versionOf(name)])),
    quick,
    ...findings,
  }
  writeFileSync(
    RESULTS,
    `${JSON.stringify(results, (_key, value) => (typeof value === 'number' ? round(value) : value), 2)}\n`,
  )
}

function versionOf(name: string): string {
  const manifest = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}
