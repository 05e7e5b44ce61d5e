/** The table for people and results.json for machines. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import type { Findings } from './suites/suite.ts'

const RESULTS = new URL('./results.json', import.meta.url)
const COMPARED = ['fastify', 'hono', '@hono/node-server', 'ajv', 'zod', 'better-sqlite3']

interface Results extends Findings {
  machine: { cpu: string; cores: number; memoryGb: number; node: string; platform: string }
  versions: Record<string, string>
  quick: boolean
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

/** Suites that were not run keep what is written of them, if it was measured on this machine and in the same way. */
export function writeResults(findings: Findings, suites: readonly string[], quick: boolean): void {
  const circumstances = { machine: describeMachine(), versions: describeVersions(), quick }
  const kept = readKept(circumstances)
  const isKept = ({ suite }: { suite: string }) => !suites.includes(suite)
  const results: Results = {
    ...circumstances,
    rows: [...kept.rows.filter(isKept), ...findings.rows],
    goals: [...kept.goals.filter(isKept), ...findings.goals],
  }
  const rounded = (_key: string, value: unknown) => (typeof value === 'number' ? round(value) : value)
  writeFileSync(RESULTS, `${JSON.stringify(results, rounded, 2)}\n`)
}

function readKept({ machine, versions, quick }: Omit<Results, keyof Findings>): Findings {
  if (!existsSync(RESULTS)) return { rows: [], goals: [] }
  const before = JSON.parse(readFileSync(RESULTS, 'utf8')) as Results
  return isDeepStrictEqual([before.machine, before.versions, before.quick], [machine, versions, quick])
    ? before
    : { rows: [], goals: [] }
}

function describeMachine(): Results['machine'] {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}

function describeVersions(): Record<string, string> {
  return Object.fromEntries(COMPARED.map((name) => [name, versionOf(name)]))
}

function versionOf(name: string): string {
  const manifest = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}

function round(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}
