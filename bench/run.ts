/** `npm run bench [-- suite … --quick]`: measures, prints the table and writes results.json beside this file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { printFindings, writeResults } from './report.ts'
import { async } from './suites/async.ts'
import { operations } from './suites/operations.ts'
import { chunks } from './suites/chunks.ts'
import type { Findings, Suite } from './suites/suite.ts'
import { sync } from './suites/sync.ts'

const SUITES: Readonly<Record<string, Suite>> = { sync, async, operations, chunks }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(SUITES, name))
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(', ')}. Suites: ${Object.keys(SUITES).join(', ')}.`)
  process.exit(2)
}
const chosen = positionals.length > 0 ? positionals : Object.keys(SUITES)
const folder = mkdtempSync(join(tmpdir(), 'callplane-bench-'))
const findings: Findings = { rows: [], goals: [] }
try {
  for (const name of chosen) {
    const { rows, goals } = await (SUITES[name] as Suite)({ quick: values.quick, folder, say: console.log })
    findings.rows.push(...rows)
    findings.goals.push(...goals)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
printFindings(findings)
writeResults(findings, chosen, values.quick)
