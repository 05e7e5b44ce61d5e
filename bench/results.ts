/** Reads and writes results.json: the machine, the versions, the dates, all rows and all goals. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { installedVersions } from './installed.ts'
import type { Findings } from './suites/suite.ts'

const RESULTS = new URL('./results.json', import.meta.url)

export interface Results extends Findings {
  machine: { cpu: string; cores: number; memoryGb: number; node: string; platform: string }
  versions: Record<string, string>
  /** The day on which each suite was measured (UTC). */
  dates: Record<string, string>
}

/**
 * Suites that were not run keep their earlier results, if those were measured on this machine with the same versions.
 */
export function writeResults(findings: Findings, suites: readonly string[]): Results {
  const circumstances = { machine: describeMachine(), versions: installedVersions() }
  const kept = readKept(circumstances)
  // A suite with several limits or parts has rows under its name plus another word. A part can be measured alone.
  const isKept = ({ suite }: { suite: string }) =>
    !suites.includes(suite.split(' ')[0] as string) && !suites.includes(partOf(suite))
  const today = new Date().toISOString().slice(0, 10)
  const results: Results = {
    ...circumstances,
    dates: { ...kept.dates, ...Object.fromEntries(suites.map((suite) => [suite, today])) },
    rows: [...kept.rows.filter(isKept), ...findings.rows],
    goals: [...kept.goals.filter(isKept), ...findings.goals],
  }
  const rounded = (_key: string, value: unknown) => (typeof value === 'number' ? roundFigure(value) : value)
  writeFileSync(RESULTS, `${JSON.stringify(results, rounded, 2)}\n`)
  return results
}

/** How `npm run bench` names the part of a suite that has these rows: `postgres/rates`. */
export function partOf(suite: string): string {
  return suite.replace(' ', '/')
}

export function readResults(): Results | undefined {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : undefined
}

/** Four significant digits exceed the precision of any measurement here. */
export function roundFigure(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}

function readKept({ machine, versions }: Pick<Results, 'machine' | 'versions'>): Omit<Results, 'machine' | 'versions'> {
  const before = readResults()
  // A package that was added since cannot have changed the figures from before.
  const same = Object.fromEntries(Object.keys(before?.versions ?? {}).map((name) => [name, versions[name]]))
  return before && isDeepStrictEqual([before.machine, before.versions], [machine, same])
    ? before
    : { rows: [], goals: [], dates: {} }
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
