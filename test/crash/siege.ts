/** A siege as a test: nothing may be found, and the disturbances must have hit something. */
import { expect } from 'vitest'
import { besiege as run, type Siege } from './besieging.ts'
import type { CrashingServer } from './crashing-server.ts'

/** To see the same moments again: CRASH_SEED=… */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)

/** `callsTaken`: of all calls that were made, so many at least must have been taken. */
export async function besiege(server: CrashingServer, siege: Siege & { callsTaken: number }): Promise<void> {
  console.info(`crash test: CRASH_SEED=${SEED}`)
  const { calls, effects, approvalsGiven, findings } = await run(server, siege, SEED)
  expect(findings, `CRASH_SEED=${SEED}`).toEqual([])
  // The kills did hit something: calls lost their connection, and attempts were cut off and made again.
  expect(server.kills).toBe(siege.rounds)
  const taken = calls.filter((call) => call.sightings[0]?.state !== 'missing')
  expect(taken.length).toBeGreaterThanOrEqual(siege.callsTaken)
  expect(effects.some((effect) => effect.attempt > 1)).toBe(true)
  expect(approvalsGiven).toBeGreaterThan(0)
}
