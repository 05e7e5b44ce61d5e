/** Runs a siege as a test: it must find no problem, and the disturbances must have interrupted calls. */
import { expect } from 'vitest'
import { besiege as run, type Siege } from './besieging.ts'
import type { CrashingServer } from './crashing-server.ts'

/** Set CRASH_SEED to repeat a run. */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)

/** `callsTaken`: the minimum number of calls that the server must have accepted. */
export async function besiege(server: CrashingServer, siege: Siege & { callsTaken: number }): Promise<void> {
  console.info(`crash test: CRASH_SEED=${SEED}`)
  const { calls, effects, approvalsGiven, findings } = await run(server, siege, SEED)
  expect(findings, `CRASH_SEED=${SEED}`).toEqual([])
  // The kills interrupted work: calls lost their connection, and attempts were cut off and repeated.
  expect(server.kills).toBe(siege.rounds)
  const taken = calls.filter((call) => call.sightings[0]?.state !== 'missing')
  expect(taken.length).toBeGreaterThanOrEqual(siege.callsTaken)
  expect(effects.some((effect) => effect.attempt > 1)).toBe(true)
  expect(approvalsGiven).toBeGreaterThan(0)
}
