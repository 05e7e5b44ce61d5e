/** Many clients use a server while it is disturbed again and again; what they saw in the end is for the checker. */
import { expect } from 'vitest'
import { Client } from './client.ts'
import type { CrashingServer } from './crashing-server.ts'
import { problemsIn } from './history.ts'
import { children, readEffects, seeded, wishes } from './wishes.ts'

/** To see the same moments again: CRASH_SEED=… */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)

export interface Siege {
  rounds: number
  clientsARound: number
  /** How many answers the clients hear in a round before it is disturbed; `random(n)` is below n. */
  answersBefore(round: number, random: (below: number) => number): number
  disturb(round: number, random: (below: number) => number): Promise<void> | void
  /** Of all calls that were made, so many at least must have been taken. */
  callsTaken: number
}

export async function besiege(server: CrashingServer, siege: Siege): Promise<void> {
  console.info(`crash test: CRASH_SEED=${SEED}`)
  const random = seeded(SEED)
  const clients: Client[] = []
  const pursuits: Promise<void>[] = []

  await server.start()
  for (let round = 0; round < siege.rounds; round++) {
    const moment = Promise.withResolvers<void>()
    let left = siege.answersBefore(round, random)
    const heard = () => {
      if (--left === 0) moment.resolve()
    }
    const fresh = wishes(round, siege.clientsARound, random).map((wish) => new Client(server, wish, heard))
    clients.push(...fresh)
    pursuits.push(...fresh.map((client) => client.pursue()))
    await Promise.race([moment.promise, Promise.all(pursuits)])
    await siege.disturb(round, random)
  }
  await Promise.all(pursuits)
  await Promise.all(clients.map((client) => client.settle()))
  await Promise.all(clients.map((client) => client.lookOnceMore()))

  const calls = clients.flatMap((client) => client.calls)
  const effects = await readEffects(server.effectsFile)
  expect(problemsIn({ calls: [...calls, ...children(calls, effects)], effects }), `CRASH_SEED=${SEED}`).toEqual([])
  // The kills did hit something: calls lost their connection, and attempts were cut off and made again.
  expect(server.kills).toBe(siege.rounds)
  const taken = calls.filter((call) => call.sightings[0]?.state !== 'missing')
  expect(taken.length).toBeGreaterThanOrEqual(siege.callsTaken)
  expect(effects.some((effect) => effect.attempt > 1)).toBe(true)
}
