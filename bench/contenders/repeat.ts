/** Repeats work inside the measured process and returns the elapsed time and the CPU time. */

export interface Repeat {
  calls: number
  concurrency: number
}

export interface Repeated {
  /** CPU time per call of the whole process, including its threads. */
  cpuUs: number
  elapsedMs: number
}

/**
 * Runs `concurrency` loops, each with one call at a time. Each call gets a number that is unique within this process.
 */
export function createRepeater(call: (index: number) => unknown): (given: unknown) => Promise<Repeated> {
  let next = 0
  return async (given) => {
    const { calls, concurrency } = given as Repeat
    const end = next + calls
    const callOneByOne = async () => {
      while (next < end) {
        const made = call(next++)
        // A synchronous result is not awaited, because the await would dominate the measurement.
        if (made instanceof Promise) await made
      }
    }
    const startedAt = performance.now()
    const before = process.cpuUsage()
    await Promise.all(Array.from({ length: concurrency }, callOneByOne))
    const { user, system } = process.cpuUsage(before)
    return { cpuUs: (user + system) / calls, elapsedMs: performance.now() - startedAt }
  }
}
