/** The interface of every durable job system: jobs that add two numbers, each written before it runs and after. */
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

export interface JobCheck {
  made: number
  stored: number
}

/** Runs the requested number of jobs. For `check` it returns how many jobs were submitted and how many are stored. */
export function createJobRunner(system: JobSystem): (given: unknown) => Promise<Repeated | JobCheck> {
  let next = 0
  return async (given) => {
    if (given === 'check') return { made: next, stored: await system.countStored(next) }
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
