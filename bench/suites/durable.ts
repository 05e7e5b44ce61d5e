/** Durable work: jobs in process by every system of jobs, then calls over HTTP from POST to terminal. */
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
