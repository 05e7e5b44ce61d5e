/**
 * A gate against calls that become more expensive unnoticed. It counts bytes instead of time, so the result does not
 * depend on the load of the machine.
 */
import { expect, test } from 'vitest'
import { countBytes, MOST_LEFT } from './count-bytes.ts'

/**
 * Bytes of heap per call; over HTTP the client's share, which is the same every time, is in them. Each limit is a quarter
 * above the value measured when it was set. Lower it when the cost goes down.
 */
const LIMITS = { engine: 4_800, durable: 14_300, opencall: 16_600, mcp: 18_000 }

test('a call builds no more than it did, and the count would show it', { timeout: 60_000 }, async () => {
  const { built, left } = await countBytes()
  const wasteful = await countBytes({ wasteBytes: 1_500 })

  for (const [name, limit] of Object.entries(LIMITS)) {
    expect(built[name], `bytes per call: ${name}`).toBeLessThan(limit)
    expect(built[name], `bytes per call: ${name}`).toBeGreaterThan(limit / 3)
    expect(left[name], `bytes per call that outlive it: ${name}`).toBeLessThan(MOST_LEFT)
  }
  for (const [name, limit] of Object.entries(LIMITS)) {
    expect(wasteful.built[name], `bytes per wasteful call: ${name}`).toBeGreaterThan(limit)
    expect(wasteful.left[name], `bytes per wasteful call that outlive it: ${name}`).toBeGreaterThan(MOST_LEFT)
  }
})
