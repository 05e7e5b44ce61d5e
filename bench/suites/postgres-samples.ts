/** What is measured of a round of jobs on Postgres, and how two contenders are compared: in the rounds that both ran. */
import type { JobCheck, JobRun } from '../contenders/durable-jobs.ts'
import type { Repeated } from '../contenders/repeat.ts'
import type { PostgresServer } from '../engines/debian-postgres.ts'
import type { Engine } from '../engines/engine.ts'
import type { Host } from '../processes.ts'
import { relativeOf, summarise } from '../statistics.ts'
import type { Row } from './suite.ts'

export interface PostgresSample {
  perSecond: number
  /** CPU time per job of the processes that submit and run the jobs. */
  cpuUs: number
  /** CPU time per job of all processes of the engine. */
  engineUs: number
  /** Bytes in Postgres's log per job. `NaN` for another engine. */
  walBytes: number
}

/** By round; empty for rounds that a contender skips. */
export type Series = readonly (PostgresSample | undefined)[]

export interface JobsOptions {
  jobs: number
  submitters: number
  ahead?: boolean
}

export async function runJobs(hosts: readonly Host[], engine: Engine, options: JobsOptions): Promise<PostgresSample> {
  const { jobs, submitters, ahead = false } = options
  const each = Math.ceil(jobs / hosts.length)
  const run: JobRun = { calls: each, concurrency: Math.ceil(submitters / hosts.length), ahead }
  const made = each * hosts.length
  const wal = await walOf(engine)
  const engineUs = engine.cpuUs()
  const startedAt = performance.now()
  const parts = await Promise.all(hosts.map((host) => host.ask<Repeated>('work', run)))
  const elapsedMs = performance.now() - startedAt
  return {
    perSecond: (made * 1000) / elapsedMs,
    cpuUs: parts.reduce((sum, { cpuUs }) => sum + cpuUs, 0) / parts.length,
    engineUs: (engine.cpuUs() - engineUs) / made,
    walBytes: ((await walOf(engine)) - wal) / made,
  }
}

function walOf(engine: Engine): Promise<number> {
  return 'walBytes' in engine ? (engine as PostgresServer).walBytes() : Promise.resolve(Number.NaN)
}

/** Fails if a system has lost jobs. */
export async function requireStored(name: string, host: Host): Promise<void> {
  const { made, stored } = await host.ask<JobCheck>('work', 'check')
  if (stored !== made) throw new Error(`${name} has the results of ${stored} jobs stored, not of all ${made}.`)
}

export function paired(
  one: Series,
  other: Series,
  ratio: (one: PostgresSample, other: PostgresSample) => number,
): number[] {
  return one.flatMap((sample, round) => {
    const counterpart = other[round]
    return sample && counterpart ? [ratio(sample, counterpart)] : []
  })
}

export const rateRatio = (one: PostgresSample, other: PostgresSample): number => one.perSecond / other.perSecond
export const engineRatio = (one: PostgresSample, other: PostgresSample): number => one.engineUs / other.engineUs
export const walRatio = (one: PostgresSample, other: PostgresSample): number => one.walBytes / other.walBytes

export const totalUs = ({ cpuUs, engineUs }: PostgresSample): number => cpuUs + engineUs

export function medianOf(series: Series, of: (sample: PostgresSample) => number): number {
  return summarise(series.filter((sample) => sample !== undefined).map(of)).median
}

/** The ratio that a row has is jobs per CPU second, of the node and the engine together. */
export function rowOf(
  suite: string,
  contender: string,
  engine: string,
  series: Series,
  limit?: { name: string; series: Series },
): Row {
  const wal = medianOf(series, ({ walBytes }) => walBytes)
  return {
    suite,
    contender,
    engine,
    cpuUs: medianOf(series, ({ cpuUs }) => cpuUs),
    perSecond: medianOf(series, ({ perSecond }) => perSecond),
    ...(limit && {
      ...relativeOf(paired(series, limit.series, (ours, theirs) => totalUs(theirs) / totalUs(ours))),
      limit: limit.name,
    }),
    figures: {
      'engine CPU µs': medianOf(series, ({ engineUs }) => engineUs),
      ...(!Number.isNaN(wal) && { 'WAL bytes': Math.round(wal) }),
      'jobs/s': Math.round(medianOf(series, ({ perSecond }) => perSecond)),
      ...(limit && { 'of the jobs/s': summarise(paired(series, limit.series, rateRatio)).median }),
    },
  }
}
