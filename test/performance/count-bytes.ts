/** Runs allocations.ts in a process of its own. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** By scenario, in bytes per call. */
export interface CountedBytes {
  built: Record<string, number>
  /** Not freed by a collection of the young generation, though the calls have ended. */
  left: Record<string, number>
}

/** Calls leave 40 to 180. A single map whose old tables hold the new ones adds 150. */
export const MOST_LEFT = 250

/** Young space enough that nothing is collected while it is counted. */
const FLAGS = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512']

/** `store` is the URL of a database, for durable calls only. Default: SQLite. */
export async function countBytes({ wasteBytes = 0, store }: { wasteBytes?: number; store?: string } = {}) {
  const script = join(import.meta.dirname, 'allocations.ts')
  const args = [...FLAGS, '--conditions=callplane-source', script, String(wasteBytes), ...(store ? [store] : [])]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as CountedBytes
}
