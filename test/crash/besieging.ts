/**
 * Disturbs a server repeatedly while many clients use it. Afterwards it checks the clients' observations, the handlers'
 * effects and the data on disk together. It uses no test runner, so that a long siege can run by itself.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from './client.ts'
import { CrashingServer } from './crashing-server.ts'
import { Decider } from './decider.ts'
import { type ClientCall, type Effect, problemsIn } from './history.ts'
import { problemsInLedger, readLedger } from './ledger.ts'
import { children, readEffects, seeded, wishes } from './wishes.ts'

export interface Siege {
  rounds: number
  clientsARound: number
  /** Number of replies that the clients get in a round before the disturbance; `random(n)` is below n. */
  answersBefore(round: number, random: (below: number) => number): number
  disturb(round: number, random: (below: number) => number): Promise<void> | void
}

export interface Besieged {
  calls: readonly ClientCall[]
  effects: readonly Effect[]
  approvalsGiven: number
  /** A description of every broken rule. */
  findings: readonly string[]
}

export async function besiege(server: CrashingServer, siege: Siege, seed: number): Promise<Besieged> {
  const random = seeded(seed)
  const clients: Client[] = []
  const pursuits = new Set<Promise<void>>()
  const decider = new Decider(server)

  await server.start()
  const deciding = decider.run()
  for (let round = 0; round < siege.rounds; round++) {
    const moment = Promise.withResolvers<void>()
    let left = siege.answersBefore(round, random)
    const heard = () => {
      if (--left === 0) moment.resolve()
    }
    for (const wish of wishes(round, siege.clientsARound, random)) {
      const client = new Client(server, wish, heard, decider)
      clients.push(client)
      const pursuit = client.pursue().finally(() => pursuits.delete(pursuit))
      pursuits.add(pursuit)
    }
    await Promise.race([moment.promise, deciding, Promise.all(pursuits)])
    await siege.disturb(round, random)
  }
  await Promise.race([deciding, Promise.all(pursuits)])
  await inTurns(clients, (client) => client.settle())
  decider.stop()
  await deciding
  await inTurns(clients, (client) => client.lookOnceMore())
  const { kills } = server
  await server.kill()
  server.kills = kills

  const calls = clients.flatMap((client) => client.calls)
  const effects = await readEffects(server.effectsFile)
  const history = { calls: [...calls, ...children(calls, effects)], effects }
  // A place that a killed server only reserved is free again by then.
  const ledger = readLedger(server.data, Date.now() + PLACE_MS)
  return {
    calls,
    effects,
    approvalsGiven: decider.given,
    findings: [...problemsIn(history), ...problemsInLedger(ledger)],
  }
}

const PLACE_MS = 61_000

/** Runs the clients in groups, because a long siege has tens of thousands of them. */
async function inTurns(clients: readonly Client[], act: (client: Client) => Promise<void>): Promise<void> {
  for (let from = 0; from < clients.length; from += 200) {
    await Promise.all(clients.slice(from, from + 200).map(act))
  }
}

export interface SiegeOptions {
  kills: number
  seed: number
  /** Called with the progress after every few kills. */
  log(line: string): void
}

export interface SiegeReport {
  kills: number
  calls: number
  effects: number
  /** Attempts that were interrupted and repeated. */
  repeatedAttempts: number
  approvalsGiven: number
  findings: readonly string[]
}

/** Kills a real server process `kills` times under mixed load. Each kill takes a second or two. */
export async function siegeByKills({ kills, seed, log }: SiegeOptions): Promise<SiegeReport> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-siege-'))
  const server = new CrashingServer(folder)
  try {
    const { calls, effects, approvalsGiven, findings } = await besiege(
      server,
      {
        rounds: kills,
        clientsARound: 20,
        answersBefore: (round, random) => (round % 3 === 2 ? 1 + random(5) : 1 + random(60)),
        async disturb(round) {
          await server.kill()
          await server.start()
          if ((round + 1) % 25 === 0) log(`${round + 1} of ${kills} kills`)
        },
      },
      seed,
    )
    const repeatedAttempts = effects.filter(({ attempt }) => attempt > 1).length
    return {
      kills: server.kills,
      calls: calls.length,
      effects: effects.length,
      repeatedAttempts,
      approvalsGiven,
      findings,
    }
  } finally {
    await server.kill()
    await rm(folder, { recursive: true, force: true })
  }
}
