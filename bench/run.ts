/**
 * `npm run bench [-- suite … --quick --try --profile --draw --against <commit>]`: measures, prints the tables, writes
 * results.json beside this file, draws docs/bench/*.svg and fills the tables of README.md and docs/performance.md.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareWith, withTree } from './against.ts'
import { comparePostgres } from './against-postgres.ts'
import { drawCharts } from './draw.ts'
import { drawGrowth } from './draw-growth.ts'
import { PROFILED, printProfiles } from './profile.ts'
import { PROFILED_FRAMES, printFrameProfiles } from './profile-frames.ts'
import { printPostgresProfiles } from './profile-postgres.ts'
import { printFindings } from './report.ts'
import { readResults, writeResults } from './results.ts'
import { POSTGRES_SUITES, postgres } from './suites/postgres.ts'
import type { Findings, Suite } from './suites/suite.ts'
import { writeTables } from './tables.ts'

/** Loaded on demand, so that a suite with missing packages does not stop the others. */
const SUITES: Readonly<Record<string, () => Promise<Suite>>> = {
  sync: async () => (await import('./suites/sync.ts')).sync,
  durable: async () => (await import('./suites/durable.ts')).durable,
  growth: async () => (await import('./suites/growth.ts')).growth,
  expiry: async () => (await import('./suites/growth-expiry.ts')).expiry,
  lists: async () => (await import('./suites/lists.ts')).lists,
  console: async () => (await import('./suites/console.ts')).consolePage,
  operations: async () => (await import('./suites/operations.ts')).operations,
  chunks: async () => (await import('./suites/chunks.ts')).chunks,
  start: async () => (await import('./suites/start.ts')).start,
  backends: async () => (await import('./suites/backends.ts')).backends,
  workers: async () => (await import('./suites/workers.ts')).workers,
  fairness: async () => (await import('./suites/fairness.ts')).fairness,
  sockets: async () => (await import('./suites/sockets.ts')).sockets,
  frames: async () => (await import('./suites/frames.ts')).frames,
  quic: async () => (await import('./suites/quic.ts')).quic,
  webrtc: async () => (await import('./suites/webrtc.ts')).webrtc,
  mqtt: async () => (await import('./suites/brokers.ts')).mqtt,
  kafka: async () => (await import('./suites/brokers.ts')).kafka,
  client: async () => (await import('./suites/client.ts')).client,
  types: async () => (await import('./suites/types.ts')).types,
  postgres: async () => postgres,
  scale: async () => (await import('./suites/scale.ts')).scale,
}

/** Parts of a suite that can be run alone. */
const PARTS: Readonly<Record<string, () => Promise<Suite>>> = Object.fromEntries(
  Object.entries(POSTGRES_SUITES).map(([part, load]) => [`postgres/${part}`, load]),
)

/** The suites that `--quick` runs by default: the rows that people ask for first. */
const MAIN = ['sync', 'durable']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    try: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    draw: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
})
/** Prints a table for a decision, and writes nothing. */
const BY_HAND = 'by-hand'
const known = values.profile
  ? [...PROFILED, ...PROFILED_FRAMES, 'postgres']
  : [...Object.keys(SUITES), ...Object.keys(PARTS), BY_HAND]
const unknown = positionals.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(', ')} here. Choose from: ${known.join(', ')}.`)
  process.exit(2)
}
if (values.draw) draw()
else if (positionals.includes(BY_HAND)) await (await import('./by-hand/index.ts')).compareByHand(values.quick)
else await runInFolder()

async function runInFolder(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-bench-'))
  try {
    if (values.against !== undefined && positionals.includes('postgres'))
      await withTree(values.against, folder, (tree) => comparePostgres(tree, folder, values.quick))
    else if (values.against !== undefined) {
      if (!(await compareWith(values.against, folder, values.quick))) process.exitCode = 1
    } else if (!values.profile) await measureSuites(folder)
    else for (const name of positionals.length > 0 ? positionals : ['sync']) await printProfile(name, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function printProfile(name: string, folder: string): Promise<void> {
  const ofFrames = PROFILED_FRAMES.find((each) => each === name)
  if (name === 'postgres') await printPostgresProfiles(folder)
  else if (ofFrames) await printFrameProfiles(ofFrames, folder)
  else await printProfiles(name, folder)
}

async function measureSuites(folder: string): Promise<void> {
  const chosen = positionals.length > 0 ? positionals : values.quick ? MAIN : Object.keys(SUITES)
  const findings: Findings = { rows: [], goals: [] }
  const measured: string[] = []
  const settings = { quick: values.quick || values.try, trial: values.try, folder, say: console.log }
  for (const name of chosen) {
    try {
      const { rows, goals } = await (await ({ ...SUITES, ...PARTS }[name] as () => Promise<Suite>)())(settings)
      findings.rows.push(...rows)
      findings.goals.push(...goals)
      measured.push(name)
    } catch (thrown) {
      // Keep the results of the other suites, which take many minutes to measure.
      console.error(`${name} failed, and nothing of it is written:`, thrown)
      process.exitCode = 1
    }
  }
  if (values.try) {
    console.log(`\nThese answer right: ${findings.rows.map(({ contender }) => contender).join(', ')}.`)
    return
  }
  printFindings(findings)
  if (values.quick) console.log('\nNothing is written: figures of a quick run are not for quoting.')
  else if (measured.length > 0) {
    writeResults(findings, measured)
    draw()
  }
}

function draw(): void {
  const results = readResults()
  if (!results) {
    console.error('There is no bench/results.json to draw from: run "npm run bench" first.')
    process.exit(2)
  }
  const drawn = [...drawCharts(results), ...drawGrowth(results), ...writeTables(results)]
  console.log(`\ndrawn: ${drawn.join(', ')}`)
}
