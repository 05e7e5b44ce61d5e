/** Durable jobs in process: 64 submitters. Each job is stored before it runs, and its result before it is reported. */
import { join } from 'node:path'
import type { JobCheck, JobRun } from '../contenders/durable-jobs.ts'
import type { Repeated } from '../contenders/repeat.ts'
import { type Host, startHost } from '../processes.ts'
import { relativeOf, summarise } from '../statistics.ts'
import { inProcessGoals } from './durable-goals.ts'
import { LIMIT, type ReadySubject, readySubjects, stopEngines } from './durable-systems.ts'
import type { Findings, Row, Settings } from './suite.ts'

const SUBMITTERS = 64

export interface JobSample {
  /** CPU time of the process that submits and runs the jobs. */
  cpuUs: number
  perSecond: number
  /** CPU time of the engine that stores them, if it is a separate process. */
  engineUs?: number
}

/** Samples by contender and round; empty for rounds that a contender skips. */
export type JobSamples = ReadonlyMap<string, readonly (JobSample | undefined)[]>

interface Running {
  subject: ReadySubject
  host: Host
}

export async function measureInProcess(settings: Settings): Promise<Findings> {
  const { quick, trial, folder, say } = settings
  const subjects = await readySubjects(settings)
  const running: Running[] = []
  try {
    for (const subject of subjects) running.push({ subject, host: await startSubject(subject, folder) })
    const rounds = trial ? 1 : quick ? 15 : 30
    const share = trial ? 0.1 : quick ? 0.25 : 1
    say(`durable: ${rounds} rounds of ${subjects.length} systems in process, ${SUBMITTERS} submitters`)
    const samples = await runJobRounds(running, rounds, share)
    for (const { subject, host } of running) await requireStored(subject.name, host)
    return { rows: subjects.map((subject) => rowOf(subject, samples)), goals: inProcessGoals(samples) }
  } finally {
    await Promise.all(running.map(({ host }) => host.stop()))
    await stopEngines(subjects)
  }
}

function startSubject({ name, system, engine }: ReadySubject, folder: string): Promise<Host> {
  const durable = { system, ...(engine && { enginePort: engine.port }) }
  return startHost(name, { contender: 'durable', durable, data: join(folder, `durable-${system}`) })
}

async function runJobRounds(running: readonly Running[], rounds: number, share: number): Promise<JobSamples> {
  for (const one of running) await runJobs(one, share * 2)
  const samples = new Map(running.map(({ subject }) => [subject.name, [] as (JobSample | undefined)[]]))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < running.length; turn++) {
      // Every second round runs backwards, so that no contender always follows the same neighbour.
      const one = running[round % 2 === 0 ? turn : running.length - 1 - turn] as Running
      const takesPart = round % one.subject.every === 0
      samples.get(one.subject.name)?.push(takesPart ? await runJobs(one, share) : undefined)
    }
  }
  return samples
}

async function runJobs({ subject, host }: Running, share: number): Promise<JobSample> {
  const { jobs, ahead = false, engine } = subject
  const calls = Math.ceil(jobs * share)
  const run: JobRun = { calls, concurrency: SUBMITTERS, ahead }
  const before = engine?.cpuUs() ?? 0
  const { cpuUs, elapsedMs } = await host.ask<Repeated>('work', run)
  const engineUs = engine && { engineUs: (engine.cpuUs() - before) / calls }
  return { cpuUs, perSecond: (calls * 1000) / elapsedMs, ...engineUs }
}

/** Fails if a system has lost jobs. */
async function requireStored(name: string, host: Host): Promise<void> {
  const { made, stored } = await host.ask<JobCheck>('work', 'check')
  if (stored !== made) throw new Error(`${name} has the results of ${stored} jobs stored, not of all ${made}.`)
}

function rowOf({ name, engine }: ReadySubject, samples: JobSamples): Row {
  const own = (samples.get(name) ?? []).filter((sample) => sample !== undefined)
  const median = (of: (sample: JobSample) => number) => summarise(own.map(of)).median
  const rates = pairedRates(samples, name, LIMIT)
  return {
    suite: 'durable',
    contender: name,
    cpuUs: median(({ cpuUs }) => cpuUs),
    perSecond: median(({ perSecond }) => perSecond),
    ...relativeOf(paired(samples, name, LIMIT, (ours, limit) => limit.cpuUs / ours.cpuUs)),
    limit: LIMIT,
    figures: {
      'jobs/s of the limit': summarise(rates).median,
      ...(engine && { 'engine CPU µs': median(({ engineUs }) => engineUs ?? Number.NaN) }),
    },
  }
}

/** Ratio of jobs per second of the two, in the rounds that both took part in. */
export function pairedRates(samples: JobSamples, one: string, other: string): number[] {
  return paired(samples, one, other, (a, b) => a.perSecond / b.perSecond)
}

export function paired(
  samples: JobSamples,
  one: string,
  other: string,
  ratio: (one: JobSample, other: JobSample) => number,
): number[] {
  const others = samples.get(other) ?? []
  return (samples.get(one) ?? []).flatMap((sample, round) => {
    const counterpart = others[round]
    return sample && counterpart ? [ratio(sample, counterpart)] : []
  })
}
