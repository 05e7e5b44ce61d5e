/**
 * `npm run chaos [-- --minutes 60 --faults 1000 --seed 1 --other <commit> --plant <defect>]`: disturbs a cluster of three
 * nodes under load, then checks what clients saw, the store and the effects. With findings the exit code is 1.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { postgresServer, s3Server } from '../engines/engines.ts'
import { runChaos } from './chaos.ts'
import { ROOT } from './cluster/cluster.ts'
import { DEFECTS, PLANTED_MINUTES } from './defects.ts'
import { FAULTS, type FaultName } from './faults.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    faults: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    nodes: { type: 'string', default: '3' },
    rate: { type: 'string', default: '15' },
    'no-brokers': { type: 'boolean', default: false },
    /** Only these faults; their names, separated by commas. */
    only: { type: 'string' },
    plant: { type: 'string' },
    /** A commit. Some nodes are replaced by its version, and back. */
    other: { type: 'string' },
  },
})
const defect = values.plant === undefined ? undefined : DEFECTS[values.plant]
const minutes = Number(values.minutes ?? (defect ? PLANTED_MINUTES : 60))
const faults = Number(values.faults ?? defect?.faults.count ?? 1_000)
const [seed, nodes, perSecond] = [values.seed, values.nodes, values.rate].map(Number) as [number, number, number]
const only = (values.only?.split(',') as FaultName[] | undefined) ?? defect?.faults.only
if (values.plant !== undefined && !defect)
  throw new Error(`There is no defect "${values.plant}". There are: ${Object.keys(DEFECTS).join(', ')}.`)
const unknown = only?.find((name) => !Object.hasOwn(FAULTS, name))
if (unknown !== undefined)
  throw new Error(`There is no fault "${unknown}". There are: ${Object.keys(FAULTS).join(', ')}.`)
const missing = [postgresServer, s3Server].flatMap((engine) => engine.missing)
if (missing.length > 0) throw new Error(`There is no ${missing.join(', ')}. Install it: npm run engines`)
// So that the disk of the database is unmounted.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
const other = values.other === undefined ? undefined : checkOut(values.other)

const startedMs = performance.now()
const say = (line: string) => console.log(`${Math.round((performance.now() - startedMs) / 1_000)} s: ${line}`)
say(`${faults} faults in ${minutes} minutes, seed ${seed}${defect ? `, planted: ${defect.what}` : ''}`)

const report = await runChaos({
  minutes,
  faults,
  seed,
  nodes,
  perSecond,
  withBrokers: !values['no-brokers'],
  ...(only && { only }),
  ...(defect && { defect }),
  ...(other !== undefined && { other }),
  say,
})
console.log('\noperations:', report.operations)
console.log('faults:', report.faults)
console.log(
  `${report.calls} calls, ${report.generations} generations at the end and ${report.dropped} dropped, ${report.effects} effects, ${report.repeatedAttempts} attempts repeated, ${report.kills} kills and failovers`,
)
for (const finding of report.findings) console.log(`FOUND: ${finding}`)
console.log(`\n${report.findings.length || 'Nothing'} found, seed ${seed}. The evidence is in ${report.folder}.`)
if (other !== undefined) rmSync(other, { recursive: true })
if (defect) {
  const found = report.findings.find((finding) => defect.finding.test(finding))
  console.log(found ? `The planted defect was found: ${found}` : 'The planted defect was NOT found.')
  process.exit(found ? 1 : 2)
}
process.exit(report.findings.length === 0 ? 0 : 1)

/** The sources of a commit, in a folder of their own, with the packages of this one. */
function checkOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-other-'))
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1e9 })
  execFileSync('tar', ['--extract', '--directory', folder], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}
