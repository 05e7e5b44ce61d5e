/** What nodes owe each other: a wake-up and a poll at another node, a killed node's calls, and silence while idle. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { END_LATER, HANG_ONCE, sharedClockUs } from '../contenders/postgres-node.ts'
import type { PostgresServer } from '../engines/debian-postgres.ts'
import { createNodeCalls, type NodeCalls } from '../node-calls.ts'
import type { Host } from '../processes.ts'
import { quantile, summarise } from '../statistics.ts'
import { GOALS, ratioGoal } from './postgres-goals.ts'
import { startNode, startServer } from './postgres-systems.ts'
import type { Findings, Goal, Row, Settings } from './suite.ts'

const SUITE = 'postgres nodes'
const NONE: Findings = { rows: [], goals: [] }

/** Runs `measure` with two nodes on one database. */
async function withTwoNodes(
  settings: Settings,
  options: { leaseMs?: number; postgres?: Readonly<Record<string, string>> },
  measure: (nodes: readonly [Host, Host], server: PostgresServer, calls: NodeCalls) => Promise<Findings>,
): Promise<Findings> {
  const { postgres, ...node } = options
  const server = await startServer(settings, ['callplane'], postgres)
  if (!server) return NONE
  const hosts: Host[] = []
  const calls = createNodeCalls()
  try {
    for (const name of ['first', 'second']) hosts.push(await startNode(server, settings.folder, { name, ...node }))
    return await measure(hosts as unknown as [Host, Host], server, calls)
  } finally {
    calls.close()
    await Promise.all(hosts.map((host) => host.stop()))
    await server.stop()
  }
}

export async function nodes(settings: Settings): Promise<Findings> {
  const parts = [await wakes(settings), await idle(settings), await takeOvers(settings)]
  return { rows: parts.flatMap(({ rows }) => rows), goals: parts.flatMap(({ goals }) => goals) }
}

const WAITERS = 100

/** Callers that wait at the node that runs their calls, and at the other one. */
function wakes(settings: Settings): Promise<Findings> {
  const { quick, trial, say } = settings
  const rounds = trial ? 1 : quick ? 4 : 12
  return withTwoNodes(settings, {}, async ([first, second], { build }, calls) => {
    say(`postgres: ${rounds} rounds of ${WAITERS} waiting callers at the same node and at another`)
    const wakeMs: Record<'same' | 'other', number[]> = { same: [], other: [] }
    const pollMs: Record<'same' | 'other', number[]> = { same: [], other: [] }
    for (let round = 0; round <= rounds; round++) {
      for (const [where, { port }] of [
        ['same', first],
        ['other', second],
      ] as const) {
        const ids = Array.from({ length: WAITERS }, () => randomUUID())
        const woken = await Promise.all(ids.map((id, at) => wakeOf(calls, first.port, port, id, at)))
        const polled: number[] = []
        for (const id of ids) polled.push(await pollOf(calls, port, id))
        // The first round warms up.
        if (round > 0) wakeMs[where].push(...woken)
        if (round > 0) pollMs[where].push(...polled)
      }
    }
    const figures = { wake: wakeMs, poll: pollMs }
    return {
      rows: (['same', 'other'] as const).map((where) => ({
        suite: SUITE,
        contender: where === 'same' ? 'a caller at the node that runs its call' : 'a caller at another node',
        engine: build,
        figures: Object.fromEntries(
          Object.entries(figures).flatMap(([kind, by]) => [
            [`ms ${kind} p50`, at(by[where], 0.5)],
            [`ms ${kind} p99`, at(by[where], 0.99)],
          ]),
        ),
      })),
      goals: Object.entries(figures).map(([kind, by]) => across(kind === 'wake' ? 'a wake-up' : 'a poll', by)),
    }
  })
}

/** From the return of the handler until the reply has arrived. */
async function wakeOf(calls: NodeCalls, runsAt: number, waitsAt: number, id: string, index: number): Promise<number> {
  // Ends spread over half a second, so that they do not share a wake-up.
  await calls.begin(runsAt, END_LATER, { delayMs: 300 + index * 5 }, id)
  const endedUs = await calls.poll(waitsAt, id, 10)
  if (endedUs === undefined) throw new Error('A waiting caller was not told the end of its call.')
  return (sharedClockUs() - endedUs) / 1000
}

async function pollOf(calls: NodeCalls, port: number, id: string): Promise<number> {
  const askedUs = sharedClockUs()
  await calls.poll(port, id, 0)
  return (sharedClockUs() - askedUs) / 1000
}

function at(values: readonly number[], q: number): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    q,
  )
}

function across(name: string, { same, other }: Record<'same' | 'other', number[]>): Goal {
  const [p99, own] = [at(other, 0.99), at(same, 0.99)]
  const goal = ratioGoal({
    suite: SUITE,
    name: `${name} at another node, p99`,
    of: 'the same at one node',
    ratios: [p99 / own],
    most: GOALS.acrossNodes,
  })
  return {
    ...goal,
    measured: `${goal.measured} (${p99.toFixed(1)} ms against ${own.toFixed(1)} of ${same.length} each)`,
  }
}

const SETTLE_MS = 6_000

/** Statements of two nodes without calls, counted by Postgres. */
function idle(settings: Settings): Promise<Findings> {
  const { quick, trial, say } = settings
  const durationMs = trial ? 1_000 : quick ? 15_000 : 30_000
  const postgres = { shared_preload_libraries: 'pg_stat_statements' }
  return withTwoNodes(settings, { postgres }, async (hosts, server) => {
    say(`postgres: two idle nodes for ${durationMs / 1000} s`)
    await server.query('callplane', 'CREATE EXTENSION pg_stat_statements')
    await pause(trial ? 0 : SETTLE_MS)
    await server.query('callplane', 'SELECT pg_stat_statements_reset()')
    const before = await Promise.all(hosts.map((host) => host.cpuUs()))
    await pause(durationMs)
    const text = `SELECT coalesce(sum(calls), 0)::integer AS calls FROM pg_stat_statements
      WHERE query NOT LIKE '%pg_stat_statements%'`
    const [counted] = await server.query<{ calls: number }>('callplane', text)
    const after = await Promise.all(hosts.map((host) => host.cpuUs()))
    const seconds = durationMs / 1000
    const perSecond = (counted?.calls ?? Number.NaN) / hosts.length / seconds
    const cpu = summarise(after.map((us, node) => (us - (before[node] ?? 0)) / seconds / 1000)).median
    return {
      rows: [
        {
          suite: SUITE,
          contender: 'an idle node',
          engine: server.build,
          figures: { 'queries/s': perSecond, 'ms of CPU each second': cpu },
        },
      ],
      goals: [
        {
          suite: SUITE,
          name: 'an idle node',
          goal: `at most ${GOALS.idlePerSecond} query a second`,
          measured: `${perSecond.toFixed(2)} over ${seconds} s`,
          met: perSecond <= GOALS.idlePerSecond,
        },
      ],
    }
  })
}

/** The default, and a short one, where the time to notice the death counts for more. */
const LEASES_MS = [30_000, 5_000] as const
const HANGING = 100
const GIVE_UP_S = 120

async function takeOvers(settings: Settings): Promise<Findings> {
  const leases = settings.trial ? LEASES_MS.slice(1) : LEASES_MS
  settings.say(`postgres: a node is killed with ${HANGING} calls, with leases of ${leases.join(' and ')} ms`)
  const measured = await Promise.all(leases.map((leaseMs) => takeOver(settings, leaseMs)))
  return { rows: measured.flatMap(({ rows }) => rows), goals: measured.flatMap(({ goals }) => goals) }
}

function takeOver(settings: Settings, leaseMs: number): Promise<Findings> {
  return withTwoNodes(settings, { leaseMs }, async ([first, second], { build }, calls) => {
    const ids = Array.from({ length: HANGING }, () => randomUUID())
    await Promise.all(ids.map((id) => calls.begin(first.port, HANG_ONCE, {}, id)))
    const killedUs = sharedClockUs()
    await first.kill()
    await Promise.all(ids.map((id) => untilEnded(calls, second.port, id)))
    const seconds = (sharedClockUs() - killedUs) / 1_000_000
    const lease = leaseMs / 1000
    const row: Row = {
      suite: SUITE,
      contender: `a killed node, lease ${lease} s`,
      engine: build,
      figures: { 's until the last of its calls has ended': seconds },
    }
    const goal: Goal = {
      suite: SUITE,
      name: `${HANGING} calls of a killed node, lease ${lease} s`,
      goal: `ended within lease + ${GOALS.takeOverS} s`,
      measured: `${seconds.toFixed(1)} s`,
      met: seconds <= lease + GOALS.takeOverS,
    }
    return { rows: [row], goals: [goal] }
  })
}

async function untilEnded(calls: NodeCalls, port: number, id: string): Promise<void> {
  const giveUpUs = sharedClockUs() + GIVE_UP_S * 1_000_000
  while ((await calls.poll(port, id, 10)) === undefined)
    if (sharedClockUs() > giveUpUs) throw new Error(`A killed node's call did not end within ${GIVE_UP_S} s.`)
}
