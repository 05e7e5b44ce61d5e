/** The interface of every durable job system: jobs that add two numbers, each written before it runs and after. */
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../statistics.ts'
import type { Repeat, Repeated } from './repeat.ts'

/** The second number of every job. */
export const ADDED = 1

export interface Job {
  /** Settles when the job is durably accepted. */
  accepted: Promise<unknown>
  /** Settles with the sum when the sum is stored. */
  completed: Promise<number>
}

export interface JobSystem {
  /** `index` is unique within this process. */
  submit(index: number): Job
  /** Returns how many of the first `jobs` jobs have the right sum in the store. */
  countStored(jobs: number): Promise<number>
  close(): Promise<void>
}

export interface JobRun extends Repeat {
  /** True if submitters wait until a job is accepted, not until it is done. The run ends when all jobs are done. */
  ahead?: boolean
}

/** Jobs at a fixed rate, submitted when they are due, even if earlier ones are still open. */
export interface PacedRun {
  perSecond: number
  durationMs: number
}

/** Latencies count from the moment at which a job was due until its result was stored. */
export interface PacedJobs {
  jobs: number
  cpuUs: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** In ascending order. */
  latenciesMs: number[]
}

export interface JobCheck {
  made: number
  stored: number
}

/**
 * Runs the requested number of jobs, or jobs at a fixed rate. For `check` it returns how many jobs were submitted and how
 * many are stored.
 */
export function createJobRunner(system: JobSystem): (given: unknown) => Promise<Repeated | JobCheck | PacedJobs> {
  let next = 0
  return async (given) => {
    if (given === 'check') return { made: next, stored: await system.countStored(next) }
    if (typeof given === 'object' && given !== null && 'perSecond' in given)
      return runPaced(system, given as PacedRun, () => next++)
    const { calls, concurrency, ahead = false } = given as JobRun
    const end = next + calls
    const open: Promise<void>[] = []
    const submitOneByOne = async () => {
      while (next < end) {
        const index = next++
        const { accepted, completed } = system.submit(index)
        const done = completed.then((sum) => expectSum(index, sum))
        await accepted
        if (ahead) open.push(done)
        else await done
      }
    }
    const startedAt = performance.now()
    const before = process.cpuUsage()
    await Promise.all(Array.from({ length: concurrency }, submitOneByOne))
    await Promise.all(open)
    const { user, system: kernel } = process.cpuUsage(before)
    return { cpuUs: (user + kernel) / calls, elapsedMs: performance.now() - startedAt }
  }
}

async function runPaced(
  system: JobSystem,
  { perSecond, durationMs }: PacedRun,
  nextIndex: () => number,
): Promise<PacedJobs> {
  const everyMs = 1000 / perSecond
  const jobs = Math.floor(durationMs / everyMs)
  const latencies: number[] = []
  const { promise: allDone, resolve, reject } = Promise.withResolvers<void>()
  let submitted = 0
  const before = process.cpuUsage()
  const startedAt = performance.now()
  // Keeps no promise of a job: garbage collections, which are part of the latency, would copy it until the end of the run.
  const run = async (dueAt: number) => {
    const index = nextIndex()
    expectSum(index, await system.submit(index).completed)
    latencies.push(performance.now() - dueAt)
    if (latencies.length === jobs) resolve()
  }
  while (submitted < jobs) {
    while (submitted < jobs && startedAt + submitted * everyMs <= performance.now())
      run(startedAt + submitted++ * everyMs).catch(reject)
    await pause(1)
  }
  await allDone
  const { user, system: kernel } = process.cpuUsage(before)
  latencies.sort((a, b) => a - b)
  const at = (q: number) => quantile(latencies, q)
  return { jobs, cpuUs: (user + kernel) / jobs, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), latenciesMs: latencies }
}

function expectSum(index: number, sum: number): void {
  if (sum !== index + ADDED) throw new Error(`Job ${index} ended with ${JSON.stringify(sum)}.`)
}

/** Waiters for jobs that are submitted in one place and complete in another. */
export function createWaiters() {
  const waiting = new Map<string, (sum: number) => void>()
  return {
    wait: (id: string) => new Promise<number>((resolve) => void waiting.set(id, resolve)),
    done(id: string, sum: number) {
      waiting.get(id)?.(sum)
      waiting.delete(id)
    },
  }
}
