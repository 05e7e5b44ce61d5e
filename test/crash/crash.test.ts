/** A real server process is killed again and again while many clients use it; then the history is checked. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { Client } from './client.ts'
import { CrashingServer } from './crashing-server.ts'
import { problemsIn } from './history.ts'
import { children, readEffects, seeded, wishes } from './wishes.ts'

const ROUNDS = 8
const CLIENTS_A_ROUND = 60
/** To see the same moments again: CRASH_SEED=… */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)

test('killed at random moments, the server loses no call, doubles no effect and takes nothing back', {
  timeout: 120_000,
}, async () => {
  verifies('opencall:289', 'opencall:291', 'opencall:294', 'opencall:295')
  console.info(`crash test: CRASH_SEED=${SEED}`)
  const random = seeded(SEED)
  const server = new CrashingServer(await temporaryFolder())
  onTestFinished(() => server.kill())
  const clients: Client[] = []
  const pursuits: Promise<void>[] = []

  await server.start()
  for (let round = 0; round < ROUNDS; round++) {
    const moment = Promise.withResolvers<void>()
    // Now and then at once, while the server still takes up what the last kill left.
    let left = round % 3 === 2 ? 1 + random(5) : 1 + random(CLIENTS_A_ROUND + 40)
    const heard = () => {
      if (--left === 0) moment.resolve()
    }
    const fresh = wishes(round, CLIENTS_A_ROUND, random).map((wish) => new Client(server, wish, heard))
    const open = fresh.map((client) => client.pursue())
    clients.push(...fresh)
    pursuits.push(...open)
    await Promise.race([moment.promise, Promise.all(pursuits)])
    await server.kill()
    await server.start()
  }
  await Promise.all(pursuits)
  await Promise.all(clients.map((client) => client.settle()))
  await Promise.all(clients.map((client) => client.lookOnceMore()))

  const calls = clients.flatMap((client) => client.calls)
  const effects = await readEffects(server.effectsFile)
  expect(problemsIn({ calls: [...calls, ...children(calls, effects)], effects }), `CRASH_SEED=${SEED}`).toEqual([])
  // The kills did hit something: calls lost their connection, and attempts were cut off and made again.
  expect(server.kills).toBe(ROUNDS)
  expect(calls.filter((call) => call.sightings[0]?.state !== 'missing').length).toBeGreaterThanOrEqual(300)
  expect(effects.some((effect) => effect.attempt > 1)).toBe(true)
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-crash-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
