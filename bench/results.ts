/** Reads and writes results.json: when and where each suite was measured, the versions, all rows and all goals. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { installedVersions } from './installed.ts'
import type { Findings } from './suites/suite.ts'

const RESULTS = new URL('./results.json', import.meta.url)

export interface Machine {
  cpu: string
  cores: number
  memoryGb: number
  node: string
  platform: string
}

/** The day on which a suite was measured (UTC), and where. */
export interface Run {
  date: string
  machine: Machine
}

export interface Results extends Findings {
  versions: Record<string, string>
  /** By suite, or by part of a suite. */
  runs: Record<string, Run>
}

/** Suites that were not run keep their earlier results, if those were measured with the same versions. */
export function writeResults(findings: Findings, suites: readonly string[]): Results {
  const versions = installedVersions()
  const kept = readKept(versions)
  // A suite with several limits or parts has rows under its name plus another word. A part can be measured alone.
  const isKept = ({ suite }: { suite: string }) =>
    !suites.includes(suite.split(' ')[0] as string) && !suites.includes(partOf(suite))
  const run: Run = { date: new Date().toISOString().slice(0, 10), machine: describeMachine() }
  const isPart = (name: string) => suites.some((suite) => name.startsWith(`${suite}/`))
  const keptRuns = Object.fromEntries(Object.entries(kept.runs).filter(([name]) => !isPart(name)))
  const results: Results = {
    versions,
    runs: { ...keptRuns, ...Object.fromEntries(suites.map((suite) => [suite, run])) },
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

/** The last run that measured the rows with this name: of the part, or of the whole suite. */
export function requireRun(suite: string, { runs }: Pick<Results, 'runs'>): Run {
  const [whole = suite] = suite.split(' ')
  const run = runs[partOf(suite)] ?? runs[whole]
  if (!run) throw new Error(`results.json does not say when and where ${suite} was measured. Measure it again.`)
  return run
}

/** For a chart: the machine and its Node. */
export function placeOf(suite: string, results: Pick<Results, 'runs'>): string {
  const { machine } = requireRun(suite, results)
  return `${machine.cores} × ${machine.cpu}, Node ${machine.node}`
}

export function readResults(): Results | undefined {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : undefined
}

/** Four significant digits exceed the precision of any measurement here. */
export function roundFigure(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}

function readKept(versions: Results['versions']): Omit<Results, 'versions'> {
  const before = readResults()
  // A package that was added since cannot have changed the figures from before.
  const same = Object.fromEntries(Object.keys(before?.versions ?? {}).map((name) => [name, versions[name]]))
  return before && isDeepStrictEqual(before.versions, same) ? before : { rows: [], goals: [], runs: {} }
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  }
}
