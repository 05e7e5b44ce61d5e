/** Measures what the model needs, with one node and one Postgres on this machine, and what it must predict. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PacedJobs, PacedRun } from '../contenders/durable-jobs.ts'
import { machineCpuUs } from '../engines/cpu-time.ts'
import type { PostgresServer } from '../engines/debian-postgres.ts'
import type { Host } from '../processes.ts'
import { summarise } from '../statistics.ts'
import { type PostgresSample, runJobs } from '../suites/postgres-samples.ts'
import { startNode, startServer } from '../suites/postgres-systems.ts'
import type { Settings } from '../suites/suite.ts'
import type { MeasuredCosts } from './costs.ts'

export interface Level extends MeasuredCosts {
  submitters: number
  perSecond: number
}

export interface Measured {
  build: string
  flushUs: number
  /** Bytes of tables and indexes per call. */
  diskBytes: number
  /** The costs are fitted to these. */
  levels: Level[]
  /** These are only predicted. */
  checks: Level[]
  paced: { perSecond: number; p50Ms: number }
}

const LEVELS = [1, 4, 16, 64, 256] as const
const CHECKS = [8, 32, 128] as const
const PACE = 1_000

export async function calibrate(settings: Settings): Promise<Measured | undefined> {
  const { quick, trial, folder, say } = settings
  const library = { shared_preload_libraries: 'pg_stat_statements' }
  const server = await startServer(settings, ['callplane'], library)
  if (!server) return undefined
  const host = await startNode(server, folder, { name: 'callplane' })
  try {
    await server.query('callplane', 'CREATE EXTENSION pg_stat_statements')
    const rounds = trial ? 1 : quick ? 2 : 5
    const share = trial ? 0.02 : quick ? 0.3 : 1
    say(`scale: costs at ${[...LEVELS, ...CHECKS].join(', ')} submitters, ${rounds} rounds`)
    await run(host, server, 256, share)
    const before = await sizeOf(server)
    const samples = new Map<number, Level[]>()
    let calls = 0
    for (let round = 0; round < rounds; round++)
      for (const submitters of [...LEVELS, ...CHECKS]) {
        const { level, jobs } = await run(host, server, submitters, share)
        samples.set(submitters, [...(samples.get(submitters) ?? []), level])
        calls += jobs
      }
    const diskBytes = ((await sizeOf(server)) - before) / calls
    const pacedRun: PacedRun = { perSecond: PACE, durationMs: trial ? 300 : 5_000 }
    const { p50Ms } = await host.ask<PacedJobs>('work', pacedRun)
    const levelOf = (submitters: number) => medianLevel(submitters, samples.get(submitters) ?? [])
    return {
      build: server.build,
      flushUs: flushUs(),
      diskBytes,
      levels: LEVELS.map(levelOf),
      checks: CHECKS.map(levelOf),
      paced: { perSecond: PACE, p50Ms },
    }
  } finally {
    await host.stop()
    await server.stop()
  }
}

/** About a second of work at each level. */
async function run(host: Host, server: PostgresServer, submitters: number, share: number) {
  const jobs = Math.ceil(submitters * (submitters < 16 ? 600 : 150) * share)
  const before = await statementsOf(server)
  const machineUs = machineCpuUs()
  const sample: PostgresSample = await runJobs([host], server, { jobs, submitters })
  const machine = (machineCpuUs() - machineUs) / jobs
  const statements = (await statementsOf(server)) - before
  const { perSecond, cpuUs, engineUs, walBytes } = sample
  const level = {
    submitters,
    perSecond,
    batch: (2 * jobs) / statements,
    nodeUs: cpuUs,
    postgresUs: engineUs,
    kernelUs: Math.max(0, machine - cpuUs - engineUs),
    walBytes,
  }
  return { level, jobs }
}

/** Statements that write calls: one accepts a batch, another one ends it. */
async function statementsOf(server: PostgresServer): Promise<number> {
  const text = `SELECT coalesce(sum(calls), 0)::integer AS calls FROM pg_stat_statements
    WHERE query LIKE '%unnest%' AND query ~ '(INSERT INTO|UPDATE) [^ ]*calls'`
  return (await server.query<{ calls: number }>('callplane', text))[0]?.calls ?? 0
}

async function sizeOf(server: PostgresServer): Promise<number> {
  const text = 'SELECT pg_database_size(current_database())::float8 AS bytes'
  return (await server.query<{ bytes: number }>('callplane', text))[0]?.bytes ?? 0
}

function medianLevel(submitters: number, levels: readonly Level[]): Level {
  const median = (of: (level: Level) => number) => summarise(levels.map(of)).median
  return {
    submitters,
    perSecond: median(({ perSecond }) => perSecond),
    batch: median(({ batch }) => batch),
    nodeUs: median(({ nodeUs }) => nodeUs),
    postgresUs: median(({ postgresUs }) => postgresUs),
    kernelUs: median(({ kernelUs }) => kernelUs),
    walBytes: median(({ walBytes }) => walBytes),
  }
}

const FLUSHES = 300
const PAGE = 8_192

/** Appends a page and waits for the disk, as the log does it. */
function flushUs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-bench-flush-'))
  const file = openSync(join(folder, 'log'), 'w')
  const page = Buffer.alloc(PAGE, 1)
  const times: number[] = []
  // Postgres writes into segments that it has made before, so the length of the file does not change.
  for (let at = 0; at < FLUSHES; at++) writeSync(file, page, 0, PAGE, at * PAGE)
  fdatasyncSync(file)
  for (let at = 0; at < FLUSHES; at++) {
    writeSync(file, page, 0, PAGE, at * PAGE)
    const from = performance.now()
    fdatasyncSync(file)
    times.push((performance.now() - from) * 1000)
  }
  closeSync(file)
  rmSync(folder, { recursive: true })
  return summarise(times).median
}
