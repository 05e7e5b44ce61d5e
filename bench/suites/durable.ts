/** Durable work: jobs in process on every job system, then calls over HTTP from POST to terminal. */
import { measureInProcess } from './durable-in-process.ts'
import { measureOverHttp } from './durable-over-http.ts'
import type { Suite } from './suite.ts'

export const durable: Suite = async (settings) => {
  const inProcess = await measureInProcess(settings)
  const overHttp = await measureOverHttp(settings)
  return {
    rows: [...inProcess.rows, ...overHttp.rows],
    goals: [...inProcess.goals, ...overHttp.goals],
  }
}
