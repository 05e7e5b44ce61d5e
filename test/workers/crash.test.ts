/** Workers, and the process that keeps their calls, are killed while many clients use the server; then the history is checked. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Client } from '../crash/client.ts'
import { CrashingServer } from '../crash/crashing-server.ts'
import { problemsIn } from '../crash/history.ts'
import { children, readEffects, seeded, wishes } from '../crash/wishes.ts'
import { verifies } from '../requirements.ts'

const ROUNDS = 6
const CLIENTS_A_ROUND = 50
/** To see the same moments again: CRASH_SEED=… */
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000)

test('killed at random moments, two workers and their store lose no call, double no effect and take nothing back', {
  timeout: 120_000,
}, async () => {
  verifies('opencall:289', 'opencall:291', 'opencall:294', 'opencall:295')
  console.info(`crash test of workers: CRASH_SEED=${SEED}`)
  const random = seeded(SEED)
  const folder = await mkdtemp(join(tmpdir(), 'callplane-workers-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const server = new CrashingServer(folder, 2)
  onTestFinished(() => server.kill())
  const clients: Client[] = []
  const pursuits: Promise<void>[] = []

  await server.start()
  for (let round = 0; round < ROUNDS; round++) {
    const moment = Promise.withResolvers<void>()
    let left = 1 + random(CLIENTS_A_ROUND + 30)
    const heard = () => {
      if (--left === 0) moment.resolve()
    }
    const fresh = wishes(round, CLIENTS_A_ROUND, random).map((wish) => new Client(server, wish, heard))
    clients.push(...fresh)
    pursuits.push(...fresh.map((client) => client.pursue()))
    await Promise.race([moment.promise, Promise.all(pursuits)])
    if (round % 3 < 2) server.killWorker(random(2))
    else {
      await server.kill()
      await server.start()
    }
  }
  await Promise.all(pursuits)
  await Promise.all(clients.map((client) => client.settle()))
  await Promise.all(clients.map((client) => client.lookOnceMore()))

  const calls = clients.flatMap((client) => client.calls)
  const effects = await readEffects(server.effectsFile)
  expect(problemsIn({ calls: [...calls, ...children(calls, effects)], effects }), `CRASH_SEED=${SEED}`).toEqual([])
  // The kills did hit something: calls lost their connection, and attempts were cut off and made again.
  expect(server.kills).toBe(ROUNDS)
  expect(calls.filter((call) => call.sightings[0]?.state !== 'missing').length).toBeGreaterThanOrEqual(150)
  expect(effects.some((effect) => effect.attempt > 1)).toBe(true)
})
