/** Work that is done inside the process that is measured: how long it took, and what it cost. */

export interface Repeat {
  calls: number
  concurrency: number
}

export interface Repeated {
  /** Of the whole process, its threads included, per call. */
  cpuUs: number
  elapsedMs: number
}

/** Calls one by one in so many lines side by side. `call` is given a number that no other call of this process has. */
export function createRepeater(call: (index: number) => unknown): (given: unknown) => Promise<Repeated> {
  let next = 0
  return async (given) => {
    const { calls, concurrency } = given as Repeat
    const end = next + calls
    const callOneByOne = async () => {
      while (next < end) {
        const made = call(next++)
        // What is answered at once is not waited for, or the measurement would be of the waiting.
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
