/** results.json: the machine, the versions, every row and every goal. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { installedVersions } from './installed.ts'
import type { Findings } from './suites/suite.ts'

const RESULTS = new URL('./results.json', import.meta.url)

export interface Results extends Findings {
  machine: { cpu: string; cores: number; memoryGb: number; node: string; platform: string }
  versions: Record<string, string>
  quick: boolean
}

/** Suites that were not run keep what is written of them, if it was measured on this machine and in the same way. */
export function writeResults(findings: Findings, suites: readonly string[], quick: boolean): Results {
  const circumstances = { machine: describeMachine(), versions: installedVersions(), quick }
  const kept = readKept(circumstances)
  // A suite with several limits has rows under its name and a further word.
  const isKept = ({ suite }: { suite: string }) => !suites.includes(suite.split(' ')[0] as string)
  const results: Results = {
    ...circumstances,
    rows: [...kept.rows.filter(isKept), ...findings.rows],
    goals: [...kept.goals.filter(isKept), ...findings.goals],
  }
  const rounded = (_key: string, value: unknown) => (typeof value === 'number' ? roundFigure(value) : value)
  writeFileSync(RESULTS, `${JSON.stringify(results, rounded, 2)}\n`)
  return results
}

export function readResults(): Results | undefined {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : undefined
}

/** Four digits say more than any measurement here knows. */
export function roundFigure(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4))
}

function readKept({ machine, versions, quick }: Omit<Results, keyof Findings>): Findings {
  const before = readResults()
  return before && isDeepStrictEqual([before.machine, before.versions, before.quick], [machine, versions, quick])
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
