/** `npm run bench [-- suite … --quick --profile]`: measures, prints the table and writes results.json beside this file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PROFILED, printProfiles } from './profile.ts'
import { printFindings, writeResults } from './report.ts'
import { async } from './suites/async.ts'
import { backends } from './suites/backends.ts'
import { chunks } from './suites/chunks.ts'
import { operations } from './suites/operations.ts'
import { start } from './suites/start.ts'
import type { Findings, Suite } from './suites/suite.ts'
import { sync } from './suites/sync.ts'
import { tools } from './suites/tools.ts'

const SUITES: Readonly<Record<string, Suite>> = { sync, tools, async, operations, chunks, start, backends }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, profile: { type: 'boolean', default: false } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(SUITES, name))
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(', ')}. Suites: ${Object.keys(SUITES).join(', ')}.`)
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals : Object.keys(SUITES)
const folder = mkdtempSync(join(tmpdir(), 'callplane-bench-'))
try {
  if (values.profile) {
    for (const name of PROFILED.filter((name) => chosen.includes(name))) await printProfiles(name, folder)
  } else await measureSuites()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measureSuites(): Promise<void> {
  const findings: Findings = { rows: [], goals: [] }
  for (const name of chosen) {
    const { rows, goals } = await (SUITES[name] as Suite)({ quick: values.quick, folder, say: console.log })
    findings.rows.push(...rows)
    findings.goals.push(...goals)
  }
  printFindings(findings)
  writeResults(findings, chosen, values.quick)
}
