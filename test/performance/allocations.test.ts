/**
 * A gate against calls that become more expensive unnoticed. It counts bytes instead of time, so the result does not
 * depend on the load of the machine. Each limit is a quarter above the value measured when it was set. Lower it when
 * the cost goes down.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Bytes of heap per call; over HTTP the client's share, which is the same every time, is in them. */
const LIMITS = { engine: 5_000, durable: 15_000, opencall: 17_000, mcp: 18_000 }

/** Young space enough that nothing is collected while it is counted. */
const FLAGS = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512']

async function countBytes(wasteBytes: number): Promise<Record<string, number>> {
  const script = join(import.meta.dirname, 'allocations.ts')
  const args = [...FLAGS, '--conditions=callplane-source', script, String(wasteBytes)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

test('a call builds no more than it did, and the count would show it', { timeout: 60_000 }, async () => {
  const counted = await countBytes(0)
  const wasteful = await countBytes(1_500)

  for (const [name, limit] of Object.entries(LIMITS)) {
    expect(counted[name], `bytes per call: ${name}`).toBeLessThan(limit)
    expect(counted[name], `bytes per call: ${name}`).toBeGreaterThan(limit / 3)
  }
  for (const [name, limit] of Object.entries(LIMITS)) {
    expect(wasteful[name], `bytes per wasteful call: ${name}`).toBeGreaterThan(limit)
  }
})
