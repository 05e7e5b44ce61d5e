/** The CPU time of a call in the caller's process: our clients beside a bare `fetch` and the clients of other systems. */
import { join } from 'node:path'
import type { Repeated } from '../contenders/repeat.ts'
import type { HostOptions } from '../host.ts'
import { keepInstalled } from '../installed.ts'
import { type Host, startHost } from '../processes.ts'
import { relativeOf } from '../statistics.ts'
import { medianUs, runWork } from '../work-rounds.ts'
import type { Goal, Row, Settings, Suite } from './suite.ts'

const SUITE = 'client'
const FETCH = 'fetch'
const OURS = ['callplane/client', 'callplane/client/calls']
/** Of the CPU time of the bare `fetch`. */
const AT_MOST = 1.15
const CONCURRENCY = 16

interface Subject {
  name: string
  client: HostOptions
  server: HostOptions['contender']
  needs?: readonly string[]
}

const SUBJECTS: readonly Subject[] = [
  { name: FETCH, client: { contender: 'client-fetch' }, server: 'callplane' },
  { name: 'callplane/client', client: { contender: 'client-callplane' }, server: 'callplane' },
  { name: 'callplane/client/calls', client: { contender: 'client-callplane', bare: true }, server: 'callplane' },
  { name: 'tRPC', client: { contender: 'client-trpc' }, server: 'trpc', needs: ['@trpc/client', '@trpc/server'] },
  { name: 'oRPC', client: { contender: 'client-orpc' }, server: 'orpc', needs: ['@orpc/client', '@orpc/server'] },
  {
    name: 'MCP SDK v1',
    client: { contender: 'client-mcp-v1' },
    server: 'mcp-sdk-v1',
    needs: ['@modelcontextprotocol/sdk'],
  },
  {
    name: 'MCP SDK v2',
    client: { contender: 'client-mcp-v2' },
    server: 'mcp-sdk-v2',
    needs: ['@modelcontextprotocol/client', '@modelcontextprotocol/server', '@modelcontextprotocol/node'],
  },
]

export const client: Suite = async ({ quick, trial, folder, say }) => {
  const subjects = keepInstalled(SUBJECTS, say)
  const { generations, ...length } = lengthOf({ quick, trial })
  const servers = new Map<string, Host>()
  const samples: Repeated[][] = subjects.map(() => [])
  try {
    for (const server of new Set(subjects.map((subject) => subject.server)))
      servers.set(server, await startHost(server, { contender: server, data: join(folder, `client-${server}`) }))
    for (let generation = 0; generation < generations; generation++) {
      const taken = await measureFreshly(subjects, servers, length)
      for (const [at, own] of taken.entries()) samples[at]?.push(...own)
      say(`client: ${generation + 1} of ${generations} starts of ${subjects.length} clients measured`)
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()))
  }
  return {
    rows: subjects.map((subject, at) => rowOf(subject, samples[at] ?? [], samples[0] ?? [])),
    goals: goalsOf(new Map(subjects.map(({ name }, at) => [name, samples[at] ?? []]))),
  }
}

/** A process keeps its own pace, so every client is started several times. */
function lengthOf({ quick, trial }: Pick<Settings, 'quick' | 'trial'>) {
  if (trial) return { generations: 1, rounds: 1, warmUpCalls: 100, calls: 100 }
  if (quick) return { generations: 2, rounds: 9, warmUpCalls: 10_000, calls: 1_000 }
  return { generations: 8, rounds: 15, warmUpCalls: 20_000, calls: 1_500 }
}

async function measureFreshly(
  subjects: readonly Subject[],
  servers: ReadonlyMap<string, Host>,
  length: { rounds: number; warmUpCalls: number; calls: number },
): Promise<Repeated[][]> {
  const hosts: Host[] = []
  try {
    for (const { name, client, server } of subjects)
      hosts.push(await startHost(name, { ...client, serverPort: (servers.get(server) as Host).port }))
    return await runWork(hosts, { ...length, concurrency: CONCURRENCY })
  } finally {
    await Promise.all(hosts.map((host) => host.stop()))
  }
}

function rowOf({ name }: Subject, own: readonly Repeated[], bare: readonly Repeated[]): Row {
  const relative = relativeOf(timesOf(bare, own))
  return { suite: SUITE, contender: name, cpuUs: medianUs(own), limit: FETCH, ...relative }
}

function goalsOf(samples: ReadonlyMap<string, readonly Repeated[]>): Goal[] {
  return OURS.flatMap((ours) =>
    [...samples].flatMap(([other, theirs]) => {
      if (OURS.includes(other)) return []
      const { relative, spread } = relativeOf(timesOf(samples.get(ours) ?? [], theirs))
      return {
        suite: SUITE,
        name: `a call through ${ours} beside ${other}`,
        goal: other === FETCH ? `at most ${AT_MOST} times its CPU time` : 'less CPU time',
        measured: `${relative.toFixed(2)} (middle half ${spread.low.toFixed(2)} to ${spread.high.toFixed(2)})`,
        met: other === FETCH ? relative <= AT_MOST : relative < 1,
      }
    }),
  )
}

/** The CPU time of the first over that of the second, round by round. */
function timesOf(first: readonly Repeated[], second: readonly Repeated[]): number[] {
  return first.map(({ cpuUs }, round) => cpuUs / (second[round] as Repeated).cpuUs)
}
